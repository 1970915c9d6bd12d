"""Merges against other merges and against writers, with the order forced and at random, in processes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from support.care import at_once
from support.compaction import Compaction
from support.integrity_oracle import assert_integrity
from support.stored_graph import read_back
from support.workers import Worker, Workers

SCHEMA = """
node Person { name: String @key  note: String? }
node City { name: String @key }
edge Knows: Person -> Person { note: String? }
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five persons; branches `a` and `b`, each with one more, of which `a` has deleted p5."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([person(f"p{n}") for n in range(1, 6)], mode="append")
    for branch in ("a", "b"):
        graph.branches.create(branch)
        graph.load([person(branch)], mode="merge", branch=branch)
    graph.mutate('query q() { delete Person where name = "p5" }', branch="a")
    return tmp_path / "graph"


def person(name: str, note: str | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "note": note}}


def people(graph: og.Graph, branch: str = "main") -> set[str]:
    return set(read_back(graph.snapshot(branch)).nodes["Person"])


def assert_sound(graph: og.Graph) -> None:
    """Every rule holds, and the first parents of main are one line."""
    assert_integrity(graph.snapshot())
    chain = [graph.snapshot().commit]
    while (parent := chain[-1].parent) is not None:
        chain.append(graph.commits.show(parent))
    assert [commit.version for commit in chain] == list(range(len(chain), 0, -1))
    assert all(newer.created_at >= older.created_at for newer, older in pairwise(chain))


POINTS = ("merge.after_capture", "merge.after_checks", "write.after_all_tables", "publish.before_record")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda graph: graph.branches.merge("b"),
        lambda graph: graph.load([person("new")], mode="append"),
        lambda graph: graph.mutate('query q() { update Person set { note: "n" } where name = "p1" }'),
        lambda graph: graph.commit_work(Compaction()),
        lambda graph: graph.load([{"type": "City", "data": {"name": "oslo"}}], mode="append"),
    ],
    ids=["merge", "insert", "update", "compaction", "other table"],
)
def test_a_merge_that_is_overtaken_looks_again_and_nothing_is_lost(
    point: str, meanwhile: Callable[[og.Graph], object], root: Path, worker: Worker
) -> None:
    worker.tell("merge", str(root), "a", failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph = og.open(root)
    meanwhile(graph)
    during = people(graph)
    worker.release(point)
    assert worker.answer().outcome in ("merged", "fast_forward")
    assert people(graph) == (during | {"a"}) - {"p5"}
    assert_sound(graph)


@pytest.mark.parametrize("point", POINTS)
def test_an_edge_to_a_node_that_the_merge_deletes_is_found_however_late_it_comes(
    point: str, root: Path, worker: Worker
) -> None:
    worker.tell("merge", str(root), "a", failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph = og.open(root)
    graph.mutate('query q() { insert Knows { from: "p1" to: "p5" } }')
    worker.release(point)
    with pytest.raises(og.MergeConflicts) as caught:
        worker.answer()
    assert [item.kind for item in caught.value.conflicts] == ["OrphanEdge"]
    assert "p5" in people(graph)
    assert_sound(graph)


@pytest.mark.parametrize("point", POINTS[1:])
def test_what_the_source_does_after_it_was_captured_is_not_merged(
    point: str, root: Path, worker: Worker
) -> None:
    captured = og.open(root).snapshot("a").commit_id
    worker.tell("merge", str(root), "a", failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph = og.open(root)
    graph.load([person("late")], mode="append", branch="a")
    worker.release(point)
    done = worker.answer()
    assert graph.commits.show(done.commit_id).merged_parent == captured
    assert "late" not in people(graph)
    assert graph.branches.merge("a").outcome == "merged"
    assert "late" in people(graph)


def test_a_target_that_was_made_again_is_not_written(root: Path, worker: Worker) -> None:
    worker.tell("merge", str(root), "a", "b", failpoints="merge.after_checks=park")
    worker.wait_parked("merge.after_checks")
    graph = og.open(root)
    graph.branches.delete("b")
    graph.branches.create("b")
    worker.release("merge.after_checks")
    with pytest.raises(og.BranchGone):
        worker.answer()
    assert people(graph, "b") == {f"p{n}" for n in range(1, 6)}


def test_two_merges_of_one_source_give_one_change(root: Path, workers: Workers) -> None:
    first, second = workers.take(), workers.take()
    for worker in (first, second):
        worker.tell("merge", str(root), "a", failpoints="merge.after_checks=park")
    for worker in (first, second):
        worker.wait_parked("merge.after_checks")
    for worker in (first, second):
        worker.release("merge.after_checks")
    outcomes = sorted(worker.answer().outcome for worker in (first, second))
    assert outcomes == ["already_up_to_date", "fast_forward"]
    graph = og.open(root)
    assert [commit.operation for commit in graph.commits.list()].count("merge") == 1
    assert_sound(graph)


def test_agents_in_processes_merge_into_one_branch_while_others_write_and_nothing_is_lost(
    root: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "2")
    agents, count = 3, 4
    working = [workers.take() for _ in range(agents)]
    for me, worker in enumerate(working):
        worker.tell("merge_until_it_lands", str(root), me, count, env={"OMNIGRAPH_TURN_SECONDS": "2"})
    graph = og.open(root, actor="writer")
    for number in range(6):
        graph.load([person(f"writer-{number}")], mode="append")
    for worker in working:
        worker.answer(300)
    expected = {f"p{n}" for n in range(1, 6)} | {f"writer-{n}" for n in range(6)}
    expected |= {f"{me}-{number}" for me in range(agents) for number in range(count)}
    assert people(graph) == expected
    assert_sound(graph)
    assert set(graph.branches.list()) == {"main", "a", "b"}


def test_a_write_that_a_merge_overtakes_is_checked_against_the_merged_graph(root: Path) -> None:
    graph = og.open(root)
    with failpoints.arm_temporarily("write.after_stage", "raise"), pytest.raises(OSError, match="injected"):
        graph.branches.merge("a")
    graph.branches.merge("a")
    with pytest.raises(og.ValidationError):
        graph.mutate('query q() { insert Knows { from: "p1" to: "p5" } }')


@pytest.mark.parametrize(
    "point", ["write.after_all_tables", "publish.after_record", "branch.rebase.before_close"]
)
def test_a_cleanup_beside_a_rebase_leaves_the_branch_what_it_stands_on(
    point: str, root: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph = og.open(root)
    graph.load([person("before")], mode="append")
    worker.tell("held", str(root), "main", "branches.rebase", ["a"], {}, failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph.load([person("after"), person("p1", "changed")], mode="merge")
    graph.cleanup(keep=1)
    worker.release(point)
    assert worker.answer().outcome == "rebased"
    graph = og.open(root)
    graph.cleanup(keep=1)
    assert people(graph, "a") >= {"a", "before", "p1"}
    assert graph.repair().ok
    assert graph.branches.merge("a").outcome in ("fast_forward", "merged")
    assert people(graph) == {"p1", "p2", "p3", "p4", "a", "before", "after"}
