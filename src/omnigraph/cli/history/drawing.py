"""The lines between commits, as text: every living line of history has a column. Only pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Protocol

_IN_ASCII = str.maketrans("●│├─┼╮╯┤╰╭", "*||-+\\/|\\/")


class HasParents(Protocol):
    """A commit, as far as drawing it goes."""

    @property
    def id(self) -> str:
        """What it is called."""

    @property
    def parent(self) -> str | None:
        """The commit before it."""

    @property
    def merged_parent(self) -> str | None:
        """What was merged into it."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A line of the drawing: of a commit, or only of what leads to the next one."""

    picture: str
    commit: str | None = None
    columns: tuple[int, ...] = field(default=())
    """For every sign of the picture the column that it belongs to, so that each gets a colour."""


def order_commits(commits: Mapping[str, HasParents], newest_first: Sequence[str]) -> list[str]:
    """Return ids so that no commit comes before one that was made of it; else in the given order."""
    waiting = dict.fromkeys(commits, 0)
    for commit in commits.values():
        for parent in parents_of(commit):
            if parent in waiting:
                waiting[parent] += 1
    place = {id_: at for at, id_ in enumerate(newest_first)}
    ready = [(place[id_], id_) for id_, count in waiting.items() if not count]
    heapify(ready)
    ordered: list[str] = []
    while ready:
        _, id_ = heappop(ready)
        ordered.append(id_)
        for parent in parents_of(commits[id_]):
            if parent in waiting:
                waiting[parent] -= 1
                if not waiting[parent]:
                    heappush(ready, (place[parent], parent))
    return ordered


def parents_of(commit: HasParents) -> list[str]:
    """Return the commits that a commit was made of, the one before it first."""
    return [item for item in (commit.parent, commit.merged_parent) if item is not None]


def draw_history(
    commits: Mapping[str, HasParents], ordered: Sequence[str], ascii_only: bool = False
) -> Iterator[DrawnRow]:
    """Yield the rows of a drawing, newest first. Lines to commits that are not shown go on to the end."""
    columns: list[str | None] = []
    for id_ in ordered:
        at = columns.index(id_) if id_ in columns else _take_column(columns, id_)
        for other in [place for place, wanted in enumerate(columns) if wanted == id_ and place != at]:
            yield _row(_link(columns, at, other, "╯"), ascii_only)
            columns[other] = None
        _trim(columns)
        yield _row(_plain(columns, at), ascii_only, id_)
        parent, merged = commits[id_].parent, commits[id_].merged_parent
        columns[at] = parent
        if merged is None or merged == parent:
            pass
        elif merged in columns:
            yield _row(_link(columns, at, columns.index(merged), "┤"), ascii_only)
        else:
            place = _take_column(columns, merged, beside=at)
            yield _row(_link(columns, at, place, "╮"), ascii_only)
        _trim(columns)


def _take_column(columns: list[str | None], wanted: str, beside: int | None = None) -> int:
    """Give a commit the first free column, right of the one that it is merged into."""
    start = 0 if beside is None else beside + 1
    for place in range(start, len(columns)):
        if columns[place] is None:
            columns[place] = wanted
            return place
    columns.append(wanted)
    return len(columns) - 1


def _trim(columns: list[str | None]) -> None:
    while columns and columns[-1] is None:
        columns.pop()


def _plain(columns: Sequence[str | None], at: int) -> list[str]:
    return ["●" if place == at else "│" if wanted else " " for place, wanted in enumerate(columns)]


def _link(columns: Sequence[str | None], at: int, other: int, end: str) -> list[str]:
    """Return the signs of a row in which one column turns to another, over those that lie between."""
    left, right = sorted((at, other))
    signs = []
    for place, wanted in enumerate(columns):
        if place == left:
            sign = "├" if at == left else {"╯": "╰", "╮": "╭", "┤": "├"}[end]
        elif place == right:
            sign = end if at == left else "┤"
        elif left < place < right:
            sign = "┼" if wanted else "─"
        else:
            sign = "│" if wanted else " "
        signs.append(sign + ("─" if left <= place < right else ""))
    return signs


def _row(signs: Sequence[str], ascii_only: bool, commit: str | None = None) -> DrawnRow:
    picture = "".join(sign if len(sign) == 2 else sign + " " for sign in signs)
    columns = tuple(at for at in range(len(signs)) for _ in range(2))
    text = picture.translate(_IN_ASCII) if ascii_only else picture
    kept = text.rstrip()
    return DrawnRow(kept, commit, columns[: len(kept)])
