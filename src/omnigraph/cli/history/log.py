"""`log`: the commits of all branches, drawn with their forks and merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base import clock
from omnigraph.base.errors import NotFound
from omnigraph.cli.history.drawing import DrawnRow, draw_history, order_commits
from omnigraph.cli.history.metadata import describe_actor, describe_metadata
from omnigraph.cli.options import parse_count
from omnigraph.cli.output import Styled, can_draw, count_of, print_json, print_styled
from omnigraph.cli.session import AsJson, Session, UriOption, report_errors, session_of

if TYPE_CHECKING:
    import omnigraph as og

_COLUMN_STYLES = ("red", "green", "yellow", "blue", "magenta", "cyan")
_SHORT_ID_LETTERS = 10
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"), (52, "week"))
"""How many of a unit of time make the next one."""


@dataclass(frozen=True)
class ShownHistory:
    """Commits, and what points at them."""

    commits: Mapping[str, og.Commit]
    """By id, each after those that were made of it."""
    heads: Mapping[str, Sequence[str]]
    """The branches whose newest commit one is."""
    tags: Mapping[str, Sequence[str]]
    is_cut: bool
    """Whether there are older ones."""

    @property
    def id_letters(self) -> int:
        """How many letters of the ids are enough to tell the commits apart."""
        ids = sorted(self.commits)
        letters = _SHORT_ID_LETTERS
        while any(one[:letters] == other[:letters] for one, other in pairwise(ids)):
            letters += 1
        return letters


def log(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(help="Where the graph is stored, or its name at a server.", metavar="[URI]"),
    ] = None,
    *,
    branches: Annotated[
        list[str] | None,
        typer.Option("--branch", "-b", help="Only what this branch can reach; may be repeated."),
    ] = None,
    limit: Annotated[
        str, typer.Option("--limit", "-n", metavar="N", help="At most this many commits.")
    ] = "100",
    graph: Annotated[bool, typer.Option("--graph", help="Draw the lines between commits.")] = False,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the commits of all branches, newest first: who made them, when and why."""
    with report_errors(as_json):
        opened = _open(session_of(context), where, uri)
        found = collect_history(opened, branches, parse_count("--limit", limit))
        if as_json:
            print_json({"commits": [_document(item, found) for item in found.commits.values()]})
            return
        for line in list_lines(found, graph, not can_draw("●│├─╮")):
            print_styled(line)


def _open(session: Session, where: str | None, uri: str | None) -> og.Graph:
    """Open the graph; a word is its name at a server, as `--graph` draws here, and else its address."""
    flags = session.flags
    if where is not None and not uri and (flags.server or flags.cluster or flags.profile):
        if flags.graph not in (None, where):
            raise typer.BadParameter(f"the graph is there twice: {flags.graph} and {where}")
        return session.at(replace(flags, graph=where)).open(None)
    if where is not None and uri is not None:
        raise typer.BadParameter("give the address once: either here or as a flag")
    return session.open(where or uri)


def collect_history(graph: og.Graph, branches: Sequence[str] | None, limit: int) -> ShownHistory:
    """Return the newest commits that some branches can reach, or all branches."""
    heads: dict[str, list[str]] = {}
    commits: dict[str, og.Commit] = {}
    most = limit + 1
    for name in branches or graph.branches.list():
        try:
            listed = graph.commits.list(name, most)
        except NotFound:
            if branches:
                raise
            continue  # somebody deleted it just now
        if listed:
            heads.setdefault(listed[0].id, []).append(name)
        commits |= {item.id: item for item in listed}
    newest = sorted(commits.values(), key=lambda item: (item.created_at, item.id), reverse=True)
    ordered = order_commits(commits, [item.id for item in newest])
    tags: dict[str, list[str]] = {}
    for tag in graph.tags.list():
        tags.setdefault(tag.commit, []).append(tag.name)
    return ShownHistory({id_: commits[id_] for id_ in ordered[:limit]}, heads, tags, len(ordered) > limit)


def list_lines(history: ShownHistory, draws: bool, ascii_only: bool = False) -> Iterator[list[Styled]]:
    """Yield the lines of a log; each is parts of text with their styles."""
    rows = (
        draw_history(history.commits, list(history.commits), ascii_only)
        if draws
        else (DrawnRow("", id_) for id_ in history.commits)
    )
    for row in rows:
        picture = [
            Styled(sign, _COLUMN_STYLES[column % len(_COLUMN_STYLES)] if sign not in "●*" else "bold")
            for sign, column in zip(row.picture, row.columns, strict=True)
        ]
        if row.commit is None:
            yield picture
        else:
            gap = [Styled("  " if draws else "")]
            yield [*picture, *gap, *_describe(history.commits[row.commit], history)]
    if history.is_cut:
        yield [Styled("… and older ones: give --limit", "dim")]


def _describe(commit: og.Commit, history: ShownHistory) -> list[Styled]:
    """Return what is said of a commit in one line."""
    parts = [Styled(commit.id[: history.id_letters], "yellow")]
    named = [Styled(name, "bold green") for name in history.heads.get(commit.id, ())]
    named += [Styled(f"tag: {name}", "bold cyan") for name in history.tags.get(commit.id, ())]
    if named:
        parts.append(Styled(" ("))
        for at, item in enumerate(named):
            parts += [Styled(", "), item] if at else [item]
        parts.append(Styled(")"))
    first_line = (commit.message or "").strip().partition("\n")[0]
    parts.append(Styled(f" {first_line}" if first_line else f" [{commit.operation}]"))
    noted = describe_metadata(commit.metadata)
    if noted:
        parts.append(Styled(f" {{{noted}}}", "cyan"))
    who = describe_actor(commit)
    actor = f" {who}," if who else ""
    parts.append(Styled(f" -{actor} {describe_age(commit.created_at)}", "dim"))
    return parts


def describe_age(moment: datetime) -> str:
    """Return how long ago something was, in the largest unit that it fills."""
    now = datetime.fromtimestamp(clock.current().now_us() / 1e6, UTC)
    count, unit = max(int((now - moment).total_seconds()), 0), "second"
    for size, name in _STEPS:
        unit = name
        if count < size:
            break
        count //= size
    else:
        unit = "year"
    return f"{count_of(count, unit)} ago"


def _document(commit: og.Commit, history: ShownHistory) -> dict[str, Any]:
    return {
        **asdict(commit),
        "heads": list(history.heads.get(commit.id, ())),
        "tags": list(history.tags.get(commit.id, ())),
    }
