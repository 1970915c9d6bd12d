"""The drawing of a history: every commit once, after what was made of it, lines that never lie."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.cli.history.drawing import draw_history, order_commits, parents_of


@dataclass(frozen=True)
class Made:
    id: str
    parent: str | None = None
    merged_parent: str | None = None


def drawn(*newest_first: Made, ascii_only: bool = False) -> str:
    commits = {item.id: item for item in newest_first}
    ordered = order_commits(commits, [item.id for item in newest_first])
    rows = draw_history(commits, ordered, ascii_only)
    return "".join(f"{row.picture}{f'  {row.commit}' if row.commit else ''}\n" for row in rows)


def test_a_fork_a_merge_and_a_line_between_them_are_drawn() -> None:
    commits = (
        Made("f", "d", "e"),
        Made("e", "b"),
        Made("d", "a", "c"),
        Made("c", "a"),
        Made("b", "a"),
        Made("a"),
    )
    assert drawn(*commits) == ("●  f\n├─╮\n│ ●  e\n● │  d\n├─┼─╮\n│ │ ●  c\n│ ● │  b\n├─╯ │\n├───╯\n●  a\n")
    assert drawn(*commits, ascii_only=True).startswith("*  f\n|-\\\n| *  e\n")


def test_what_is_not_shown_is_a_line_to_the_end() -> None:
    assert drawn(Made("c", "b"), Made("x", "older")) == "●  c\n│ ●  x\n"


def test_two_lines_without_a_common_commit_have_columns_of_their_own() -> None:
    assert drawn(Made("b"), Made("a")) == "●  b\n●  a\n"


@st.composite
def histories(draw: st.DrawFn) -> list[Made]:
    made: list[Made] = []
    for number in range(draw(st.integers(1, 25))):
        ids = [item.id for item in made]
        parent = draw(st.sampled_from(ids)) if ids else None
        merged = draw(st.one_of(st.none(), st.sampled_from(ids))) if ids else None
        made.append(Made(str(number), parent, merged))
    return draw(st.permutations(made))


@given(histories())
def test_every_commit_is_drawn_once_above_its_parents_in_a_column_that_leads_to_each(
    made: list[Made],
) -> None:
    commits = {item.id: item for item in made}
    ordered = order_commits(commits, list(commits))
    assert sorted(ordered) == sorted(commits)
    rows = list(draw_history(commits, ordered))
    at = {row.commit: (number, row.picture.index("●")) for number, row in enumerate(rows) if row.commit}
    for commit in made:
        for parent in parents_of(commit):
            assert leads_to([row.picture for row in rows], at[commit.id], at[parent])


DOWN, LEFT, RIGHT = "│├┤┼╮╭●", "─┤┼╮╯├", "─├┼╰╭┤"


def leads_to(pictures: list[str], start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Whether some way down and along the signs goes from a commit to another."""
    seen, todo = set(), [start]
    while todo:
        place = todo.pop()
        if place == end:
            return True
        if place in seen or place[0] > end[0]:
            continue
        seen.add(place)
        row, column = place
        sign = pictures[row][column : column + 1]
        below = pictures[row + 1][column : column + 1] if row + 1 < len(pictures) else ""
        if sign and sign in DOWN and below.strip():
            todo.append((row + 1, column))
        if sign and sign in "├┼─┤╯╮╰╭":
            todo += [
                (row, other)
                for other in (column - 1, column + 1)
                if 0 <= other < len(pictures[row]) and pictures[row][other] in "─├┼┤╮╯╰╭"
            ]
    return False
