"""Reading what a branch said at a moment, and what commits note beside their message."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import clock
from omnigraph.base.clock import Clock

_NAMES = "query q() { match { $p: Person } return { $p.name as name } order { $p.name } }"


class StepClock(Clock):
    """A clock that an hour passes on for each step."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 31, 12, tzinfo=UTC)

    def now_us(self) -> int:
        return int(self.time.timestamp() * 1e6)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[og.Graph]:
    """One person an hour from 13:00 on, on main; from 15:00 on another one each hour on dev."""
    steps = StepClock()
    before = clock.install(steps)
    try:
        graph = og.init(tmp_path / "graph", "node Person { name: String @key }")
        for hour in range(13, 18):
            steps.time += timedelta(hours=1)
            if hour == 15:
                graph.branches.create("dev")
            for branch in ("main", "dev") if hour >= 15 else ("main",):
                record = {"type": "Person", "data": {"name": f"{branch}{hour}"}}
                graph.load([record], mode="append", branch=branch)
        yield graph
    finally:
        clock.install(before)


def names(graph: og.Graph, snapshot: str) -> list[str]:
    return [row["name"] for row in graph.query(_NAMES, snapshot=snapshot).rows]


def test_a_branch_is_read_as_it_was_at_a_moment(history: og.Graph) -> None:
    half_past_two = "2026-01-31T14:30:00Z"
    assert names(history, f"main@{{{half_past_two}}}") == ["main13", "main14"]
    assert names(history, "@{2026-01-31T13:00:00+00:00}") == ["main13"]
    assert names(history, "dev@{2026-01-31T14:30:00}") == ["main13", "main14"], "before it was forked"
    assert names(history, "dev@{2026-01-31 16:00}") == ["dev15", "dev16", "main13", "main14"]
    assert names(history, "dev@{2030-01-01}") == names(history, "dev")
    assert names(history, "main@{2026-01-31T14:30:00Z}~1") == ["main13"]
    eastern = datetime(2026, 1, 31, 16, 30, tzinfo=timezone(timedelta(hours=2)))
    assert (
        history.snapshot(timestamp=eastern).commit_id == history.snapshot(timestamp=half_past_two).commit_id
    )
    assert history.snapshot("dev", timestamp="2026-01-31T14:30").branch == "dev"


def test_a_moment_before_everything_that_is_stored_is_not_found(history: og.Graph) -> None:
    with pytest.raises(og.NotFound, match="before 2026-01-31T11:00:00"):
        history.snapshot(timestamp="2026-01-31T11:00:00Z")
    history.cleanup(keep=1)
    with pytest.raises(og.NotFound):
        history.snapshot(timestamp="2026-01-31T13:30:00Z")


def test_what_is_no_moment_is_refused(history: og.Graph) -> None:
    for wrong in ("yesterday", 7):
        with pytest.raises(og.BadInput, match="2026-01-31T12:00:00Z"):
            history.snapshot(timestamp=wrong)  # type: ignore[arg-type]
    with pytest.raises(og.BadInput, match="not both"):
        history.snapshot(timestamp="2026-01-31", version=1)


def test_a_commit_notes_what_its_writer_says(history: og.Graph) -> None:
    record = {"type": "Person", "data": {"name": "noted"}}
    done = history.load([record], mode="append", metadata={"job": "nightly", "run": "7"})
    assert done.commit_id is not None
    assert given(history.commits.show(done.commit_id)) == {"job": "nightly", "run": "7"}
    newest, before = history.commits.list(limit=2)
    assert (given(newest), given(before)) == ({"job": "nightly", "run": "7"}, {})


def given(commit: og.Commit) -> dict[str, str]:
    """Return what a commit notes without what a load has measured."""
    return {name: text for name, text in commit.metadata.items() if not name.startswith("load.")}


def test_metadata_is_strings_and_has_a_limit(history: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="dict of strings"):
        history.load([], mode="append", metadata={"run": 7})  # type: ignore[dict-item]
    with pytest.raises(og.ResourceLimit, match="OMNIGRAPH_COMMIT_TEXT_BYTES"):
        history.load([], mode="append", metadata={f"n{at}": "x" * 1000 for at in range(100)})


def test_every_kind_of_write_notes_its_metadata_and_is_found_by_it(history: og.Graph) -> None:
    task = {"task": "t-17", "on_behalf_of": "ada"}
    insert = 'query q() { insert Person { name: "eve" } }'
    text = f"{history.schema.source}\nnode Noted {{ name: String @key }}"
    history.branches.create("side")
    side = history.mutate(insert, branch="side", metadata=task).commit_id
    made = [
        history.schema.apply(text, metadata=task).commit_id,
        history.branches.merge("side", metadata=task).commit_id,
        history.commits.revert(str(side), metadata=task).commit_id,
        history.branches.reset("main", "HEAD~1", metadata=task).commit_id,
        history.commits.cherry_pick("HEAD~1", metadata=task).commit_id,
    ]
    assert None not in made
    assert {item.id for item in history.commits.list(where=task)} == {side, *made}
    assert len(history.commits.list(where={"task": "t-17"}, limit=2)) == 2
    assert history.commits.list(where={"task": "t-18"}) == []
    assert history.commits.list(where={"task": "t-17", "tool": "x"}) == []
    with pytest.raises(og.BadInput, match="dict of strings"):
        history.commits.list(where={"task": 17})  # type: ignore[dict-item]
