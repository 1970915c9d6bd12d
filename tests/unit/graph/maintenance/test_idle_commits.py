"""Fences of nightly cleanups: of each run of them only the last stays, and nobody misses the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.maintenance.cleanup.cleanup import CleanupRequest, cleanup
from omnigraph.graph.maintenance.cleanup.retention import ChainView, Limits, RetentionRoots, is_idle, keep
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, RecoveryNote
from support.care import PEOPLE, at_once, fill, open_again
from support.random_chains import made_record


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)


def _fence(older: CommitRecord, **said: Any) -> CommitRecord:
    made = made_record("main", older.seq + 1, older.created_at + 1, 0, older.ref)
    return replace(
        made,
        **{
            "tables": older.tables,
            "content": older.content,
            "operation": "cleanup",
            "commit_class": CommitClass.MAINTENANCE,
            **said,
        },
    )


def _write(older: CommitRecord) -> CommitRecord:
    made = made_record("main", older.seq + 1, older.created_at + 1, older.seq, older.ref)
    return replace(made, content=made.commit)


def _line(kinds: str) -> dict[int, CommitRecord]:
    """Return a chain: a write for each `w`, a fence for each `f`, a fence with a note for each `n`."""
    note = RecoveryNote("RolledBack", "o", "c", None, "w", ())
    records = [made_record("main", 1, 1, 1, None)]
    for kind in kinds:
        last = records[-1]
        records.append(
            _write(last) if kind == "w" else _fence(last, **({"recovery": (note,)} if kind == "n" else {}))
        )
    return {record.seq: record for record in records}


def _kept(kinds: str, pinned: int | None = None, after: int | None = None) -> list[int]:
    chain = ChainView("main", "main", None, True, _line(kinds))
    head = chain.records[chain.last].ref
    standing = RetentionRoots(
        [head],
        [chain.records[pinned].ref] if pinned else [],
        [("main", after)] if after else [],
    )
    found = keep({"main": chain}, standing, Limits(idle=False))
    return [seq for seq in chain.numbers if ("main", seq) in found]


def test_of_a_run_of_fences_the_last_one_stays() -> None:
    assert _kept("wfffw") == [1, 2, 5, 6]
    assert _kept("wff") == [1, 2, 4]
    assert _kept("wfwfwf") == [1, 2, 3, 4, 5, 6, 7]


def test_what_something_stands_on_and_what_carries_a_note_stays() -> None:
    assert _kept("wfffw", pinned=3) == [1, 2, 3, 5, 6]
    assert _kept("wfnfff") == [1, 2, 3, 4, 7]
    assert _kept("wffff", after=4) == [1, 2, 5, 6]


def test_only_a_fence_is_idle() -> None:
    first = made_record("main", 1, 1, 1, None)
    fence = _fence(first)
    assert is_idle(fence, first)
    for said in (
        {"operation": "optimize"},
        {"commit_class": CommitClass.LOGICAL},
        {"schema": "other"},
        {"streams": {"app": 1}},
        {"tables": {}},
        {"closed": True},
        {"merged_parent": first.ref},
    ):
        assert not is_idle(_fence(first, **said), first), said


def _nightly(graph: og.Graph) -> None:
    """Leave something to remove, so that the cleanup puts up its fences; then clean up."""
    for branch in graph.branches.list():
        graph.branches.create("gone", from_branch=branch)
        graph.branches.delete("gone")
    core = graph.internals.core
    (Path(graph.uri) / "nodes" / "0-0").mkdir(exist_ok=True, parents=True)
    (Path(graph.uri) / "nodes" / "0-0" / "left").touch()
    cleanup(core.truth, core.settings, CleanupRequest(Limits(idle=False)))
    core.truth.chains.clear()


def test_many_nightly_cleanups_leave_one_fence_after_each_write(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("quiet")
    for night in range(3):
        for _ in range(4):
            _nightly(graph)
        fill(graph, 1, 10 + night)
    for branch in ("main", "quiet"):
        fresh = open_again(graph.uri)
        fences = [commit for commit in fresh.commits.list(branch) if commit.operation == "cleanup"]
        assert 1 <= len(fences) <= 4, branch
        assert len(fresh.commits.list(branch)) - len(fences) == (6 if branch == "main" else 3)
    assert open_again(graph.uri).repair().ok


def test_a_follower_of_the_feed_does_not_miss_the_fences_that_went(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    cursors = [graph.changes.poll(start="beginning").cursor]
    for night in range(3):
        for _ in range(3):
            _nightly(graph)
            cursors.append(graph.changes.poll(start="now").cursor)
        fill(graph, 1, 10 + night)
    expected = [f"p{10 + night}" for night in range(3)]
    for place, cursor in enumerate(cursors):
        seen = []
        page = open_again(graph.uri).changes.poll(cursor=cursor, commits=1)
        while True:
            seen += [change.id for block in page for change in block.changes]
            if page.caught_up:
                break
            page = open_again(graph.uri).changes.poll(cursor=page.cursor, commits=1)
        assert seen == expected[max(0, place - 1) // 3 :], place
