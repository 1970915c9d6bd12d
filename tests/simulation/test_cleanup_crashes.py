"""Cleanup beside other processes: killed at every point, and raced by writers, readers, branches and tags."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base import clock, failpoints
from omnigraph.base.errors import Contention, HistoricalVersionReclaimed, NotFound
from omnigraph.base.failpoints import InjectedFault
from omnigraph.base.ids import new_commit_id
from omnigraph.graph.branches.create import create_branch
from omnigraph.graph.manifest import chain, layout
from omnigraph.graph.write.commit import commit
from omnigraph.graph.write.work import CommitRequest
from support import graph_tasks
from support.care import (
    INSERT,
    PEOPLE,
    Said,
    assert_listed_are_kept,
    at_once,
    fill,
    open_again,
    remembered,
)
from support.graphs import contents
from support.processes import run_together
from support.row_changes import Append, RowChanges
from support.s3 import S3
from support.workers import Worker, Workers

NOW = {"OMNIGRAPH_CLEANUP_GRACE_SECONDS": "0"}
POINTS = (
    "cleanup.after_survey",
    "cleanup.after_floors",
    "cleanup.after_fences",
    "cleanup.before_delete",
    "cleanup.before_delete=kill@9",
    "cleanup.after_table",
    "cleanup.before_records",
    "cleanup.after_records",
)


class Kept:
    """A graph with every kind of thing that cleanup decides about, and what must be left of it."""

    def __init__(self, root: Path) -> None:
        graph = og.init(root, PEOPLE, actor="act-ada")
        made = fill(graph, 6)
        graph.branches.create("dev")
        own = fill(graph, 4, 20, "dev")
        graph.branches.create("gone")
        fill(graph, 2, 40, "gone")
        made += fill(graph, 3, 60)
        said = remembered(graph)
        graph.branches.delete("gone")
        graph.tags.create("v1", commit=made[1])
        with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
            fill(graph, 1, 90)
        self.said: Said = said
        self.commits = [made[1], *made[-2:], *own[-2:], made[5]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kept]:
    root = tmp_path_factory.mktemp("cleanup") / "graph"
    return root, Kept(root)


def _clean(worker: Worker, uri: str, point: str = "", keep: int = 2, grace: str = "0") -> None:
    armed = point if "=" in point or not point else f"{point}=kill"
    env = {"OMNIGRAPH_CLEANUP_GRACE_SECONDS": grace}
    worker.tell("held", uri, "main", "cleanup", (), {"keep": keep}, failpoints=armed, env=env)


@pytest.mark.parametrize("point", POINTS)
def test_a_cleanup_killed_anywhere_loses_nothing_and_the_next_one_finishes(
    made: tuple[Path, Kept], tmp_path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    root, kept = made
    shutil.copytree(root, tmp_path / "graph")
    uri = str(tmp_path / "graph")
    _clean(worker, uri, point)
    worker.die()
    reader = og.open(uri, read_only=True)
    for id_ in kept.commits:
        assert contents(reader.snapshot(commit=id_)) == kept.said[id_]
    assert not [item for item in reader.repair().findings if item.severity == "damage"]
    fill(og.open(uri), 1, 300)
    at_once(monkeypatch)
    said = {**kept.said, **remembered(open_again(uri), ["main"])}
    done = open_again(uri).cleanup(keep=3)
    assert not done.errors
    fresh = open_again(uri)
    assert_listed_are_kept(fresh, said, kept.commits)
    assert fresh.repair().findings == ()
    before = _listed(fresh)
    again = fresh.cleanup(keep=3)
    assert (again.files, again.records_removed) == (0, 0)
    # Of two fences in a row, the killed cleanup's and the next one's, the first is let go; nothing else is.
    left = _listed(open_again(uri))
    assert left == {id_: is_fence for id_, is_fence in before.items() if id_ in left or not is_fence}
    assert again.commits_dropped == len(before) - len(left)
    last = open_again(uri).cleanup(keep=3)
    assert (last.files, last.commits_dropped, last.records_removed) == (0, 0, 0)


def _listed(graph: og.Graph) -> dict[str, bool]:
    """Return the commits that all branches list, and whether each is a fence."""
    listed = [commit for branch in graph.branches.list() for commit in graph.commits.list(branch)]
    return {commit.id: commit.operation == "cleanup" for commit in listed}


@pytest.mark.parametrize("storage", ["local", pytest.param("s3", marks=pytest.mark.s3)])
def test_a_writer_that_staged_before_a_cleanup_and_publishes_after_it_is_refused_and_may_try_again(
    request: pytest.FixtureRequest, tmp_path: Path, storage: str
) -> None:
    options: dict[str, str] = {}
    uri = str(tmp_path / "graph")
    if storage == "s3":
        s3: S3 = request.getfixturevalue("s3")
        uri, options = f"{s3.uri}/graph", s3.options
    graph = og.init(uri, PEOPLE, storage_options=options)
    fill(graph, 3)
    truth, settings = graph.internals.core.truth, graph.internals.core.settings

    class Held(RowChanges):
        """Work during which somebody cleans up: after its last table is staged, before it is published."""

        cleaned = False

        def apply(self, base: Any) -> None:
            super().apply(base)
            if not self.cleaned:
                self.cleaned = True
                clock.Clock().sleep(1.1 if storage == "s3" else 0.0)  # S3 dates files by whole seconds
                with pytest.MonkeyPatch.context() as patch:
                    patch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
                    assert og.open(uri, storage_options=options).cleanup().files > 0

    row = _person("late")
    with pytest.raises(Contention, match="cleanup"):
        commit(truth, settings, CommitRequest("main"), Held([Append("node:Person", row)]))
    assert graph.snapshot().table("node:Person").count() == 3
    assert (
        commit(truth, settings, CommitRequest("main"), RowChanges([Append("node:Person", row)])) is not None
    )
    assert open_again(uri, options).snapshot().table("node:Person").count() == 4
    assert open_again(uri, options).repair().ok


def _person(name: str) -> Any:
    fields = [pa.field("id", pa.string(), nullable=False), pa.field("name", pa.string(), nullable=False)]
    schema = pa.schema([*fields, pa.field("note", pa.string())])
    return pa.table({"id": [name], "name": [name], "note": [name]}, schema=schema)


@pytest.mark.parametrize(
    ("grace", "lands"), [("0", False), ("3600", True)], ids=["no grace", "an hour's grace"]
)
def test_a_writer_parked_at_its_record_is_spared_by_the_grace_period_or_stopped_by_the_fence(
    tmp_path: Path, workers: Workers, grace: str, lands: bool
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 6)
    writer, cleaner = workers.take(), workers.take()
    writer.tell(
        "mutate", graph.uri, INSERT, {"n": "late", "t": "x"}, failpoints="publish.before_record=park@1"
    )
    writer.wait_parked("publish.before_record")
    _clean(cleaner, graph.uri, keep=1, grace=grace)
    assert cleaner.answer().commits_dropped > 0
    writer.release("publish.before_record")
    if lands:
        assert writer.answer().affected_nodes == 1
    else:
        with pytest.raises(Contention):
            writer.answer()
        assert writer.ask("mutate", graph.uri, INSERT, {"n": "late", "t": "x"}).affected_nodes == 1
    fresh = open_again(graph.uri)
    assert fresh.snapshot().table("node:Person").count() == 7
    assert fresh.repair().ok


def test_a_load_whose_plan_is_durable_is_safe_from_a_cleanup_without_grace(
    tmp_path: Path, workers: Workers
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    loader, cleaner = workers.take(), workers.take()
    records = [{"type": "Person", "data": {"name": f"l{number}"}} for number in range(5)]
    loader.tell("load", graph.uri, records, "append", failpoints="plan.after_put=park@1")
    loader.wait_parked("plan.after_put")
    _clean(cleaner, graph.uri, keep=1)
    cleaner.answer()
    loader.kill()
    # The writer is dead, its plan is not: whoever writes next publishes it, or says why not.
    fresh = open_again(graph.uri)
    assert fresh.repair().ok
    fresh.mutate('query q() { insert Person { name: "next" } }')
    assert fresh.snapshot().table("node:Person").count() == 9


def test_a_branch_made_from_a_head_that_a_cleanup_drops_meanwhile_is_not_made(
    tmp_path: Path, workers: Workers
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    maker, cleaner = workers.take(), workers.take()
    maker.tell("create_branch", graph.uri, "dev", failpoints="branch.create.before_ref=park@1")
    maker.wait_parked("branch.create.before_ref")
    fill(graph, 3, 10)
    _clean(cleaner, graph.uri, keep=1)
    cleaner.answer()
    maker.release("branch.create.before_ref")
    with pytest.raises(Contention):
        maker.answer()
    assert open_again(graph.uri).branches.list() == ["main"]
    maker.ask("create_branch", graph.uri, "dev")
    assert open_again(graph.uri).snapshot("dev").table("node:Person").count() == 6
    assert open_again(graph.uri).repair().ok


def test_a_branch_that_gets_its_name_before_the_floor_is_kept(tmp_path: Path, workers: Workers) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    cleaner = workers.take()
    old = graph.internals.read_state()
    fill(graph, 3, 10)
    cleaner.tell(
        "held",
        graph.uri,
        "main",
        "cleanup",
        (),
        {"keep": 1},
        failpoints="cleanup.after_survey=park@1",
        env=NOW,
    )
    cleaner.wait_parked("cleanup.after_survey")
    create_branch(graph.internals.core.truth, "dev", old.head, None)
    cleaner.release("cleanup.after_survey")
    cleaner.answer()
    assert open_again(graph.uri).snapshot("dev").table("node:Person").count() == 3
    assert open_again(graph.uri).repair().ok


@pytest.mark.parametrize("point", ["cleanup.after_survey", "cleanup.after_floors"])
def test_a_tag_made_while_a_cleanup_runs_is_kept_or_refused(
    tmp_path: Path, workers: Workers, point: str
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    made = fill(graph, 5)
    said = remembered(graph)
    cleaner = workers.take()
    cleaner.tell("held", graph.uri, "main", "cleanup", (), {"keep": 1}, failpoints=f"{point}=park@1", env=NOW)
    cleaner.wait_parked(point)
    refused = point == "cleanup.after_floors"
    record = graph.snapshot(version=2).record if not refused else None
    if refused:
        with pytest.raises(HistoricalVersionReclaimed):
            graph.tags.create("v1", commit=made[0])
    else:
        assert record is not None
        graph.tags.create("v1", commit=record.commit)
    cleaner.release(point)
    cleaner.answer()
    fresh = open_again(graph.uri)
    if refused:
        assert fresh.tags.list() == []
    else:
        assert contents(fresh.snapshot(tag="v1")) == said[made[0]]
    assert fresh.repair().ok


def test_a_tag_whose_commit_goes_before_it_is_stored_is_taken_back(tmp_path: Path, workers: Workers) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    record = graph.snapshot(version=2).record
    cleaner = workers.take()
    _clean(cleaner, graph.uri, keep=1)
    cleaner.answer()
    with pytest.raises(HistoricalVersionReclaimed):
        graph.internals.core.truth.tags.create("v1", record, 0, None)
    assert graph.tags.list() == []


def test_a_merge_beside_a_cleanup_lands_whole_or_is_refused(tmp_path: Path, workers: Workers) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    graph.branches.create("dev")
    fill(graph, 3, 10, "dev")
    merger, cleaner = workers.take(), workers.take()
    merger.tell("merge", graph.uri, "dev", failpoints="publish.before_record=park@1")
    merger.wait_parked("publish.before_record")
    # The source moves on, and what is being merged becomes history that nobody keeps.
    graph.load([{"type": "Person", "data": {"name": "other"}}], mode="overwrite", branch="dev")
    _clean(cleaner, graph.uri, keep=1)
    cleaner.answer()
    merger.release("publish.before_record")
    # Its plan is durable and names what it merges, so the cleanup has kept that: the merge lands whole.
    assert merger.answer().outcome in ("fast_forward", "merged")
    assert open_again(graph.uri).snapshot().table("node:Person").count() == 6
    assert open_again(graph.uri).repair().ok
    assert merger.ask("merge", graph.uri, "dev").outcome in ("fast_forward", "merged")
    assert open_again(graph.uri).repair().ok


@pytest.mark.parametrize("point", ["branch.rebase.before_close", "branch.rebase.after_close"])
@pytest.mark.parametrize("dies", [True, False], ids=["and dies", "and goes on"])
def test_a_rebase_that_meets_a_cleanup_is_whole_before_or_whole_after(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch, point: str, dies: bool
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("dev")
    fill(graph, 3, 10, "dev")
    fill(graph, 2, 20)
    rebaser = workers.take()
    rebaser.tell("held", graph.uri, "main", "branches.rebase", ("dev",), {}, failpoints=f"{point}=park@1")
    rebaser.wait_parked(point)
    if dies:
        rebaser.kill()
    at_once(monkeypatch)
    fresh = open_again(graph.uri)
    assert not fresh.cleanup(keep=1).errors
    if not dies:
        rebaser.release(point)
        assert rebaser.answer().outcome == "rebased"
    rebased = point.endswith("after_close") or not dies
    fresh = open_again(graph.uri)
    assert fresh.snapshot("dev").table("node:Person").count() == (7 if rebased else 5)
    assert fresh.repair().ok
    fresh.cleanup(keep=1)
    assert open_again(graph.uri).repair().findings == ()


def test_old_handles_cannot_bring_back_what_was_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    old = open_again(graph.uri)
    stale = old.internals.read_state()
    fill(graph, 12, 10)
    assert graph.cleanup(keep=1).records_removed > 10
    # Put where the next record of the stale head was: the number is free again, and nobody reads it.
    truth = old.internals.core.truth
    commit_id = new_commit_id(stale.head.incarnation)
    ghost = replace(stale.head, commit=commit_id, seq=stale.head.seq + 1, parent=stale.head.ref)
    assert truth.chains.put(ghost) is not None
    fill(old, 1, 100)
    for handle in (old, graph, open_again(graph.uri)):
        assert handle.snapshot().table("node:Person").count() == 16
        with pytest.raises(HistoricalVersionReclaimed):
            handle.snapshot(version=ghost.seq)
    assert open_again(graph.uri).repair().ok
    # Its writer learns that it is not part of the chain, and takes it back.
    assert not truth.confirm_or_take_back(stale, ghost)
    assert not (tmp_path / "graph" / layout.record_path(ghost.incarnation, ghost.seq)).exists()
    assert open_again(graph.uri).repair().ok


def test_a_handle_of_a_deleted_branch_does_not_write_into_the_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph = og.init(tmp_path / "graph", PEOPLE)
    graph.branches.create("dev")
    fill(graph, 2, 0, "dev")
    held = og.open(graph.uri, branch="dev")
    assert held.snapshot().version == 3
    graph.branches.delete("dev")
    graph.cleanup(keep=1)
    graph.cleanup(keep=1)
    with pytest.raises((NotFound, og.BranchGone)):
        fill(held, 1, 10)
    with pytest.raises((NotFound, og.BranchGone)):
        held.snapshot()


def test_a_probe_after_a_long_silence_starts_from_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    silent = open_again(graph.uri)
    assert silent.snapshot().version == 3
    fill(graph, 30, 10)
    monkeypatch.setattr(chain, "RECORD_REST_SECONDS", -1.0)
    graph.cleanup(keep=1)
    monkeypatch.setattr(chain, "HINT_AFTER_SECONDS", -1.0)
    assert silent.snapshot().version == 34
    assert silent.snapshot().table("node:Person").count() == 32


@pytest.mark.long
def test_writers_readers_and_cleanups_of_many_processes_never_see_anything_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    uri = str(tmp_path / "graph")
    og.init(uri, PEOPLE)
    tasks = [
        ("insert_beside_cleanup", uri, 1, 25),
        ("insert_beside_cleanup", uri, 2, 25),
        ("read_beside_cleanup", uri, 150),
        ("clean_often", uri, 1, 8),
        ("clean_often", uri, 2, 8),
    ]
    one, two, read, *_ = run_together(graph_tasks.task, tasks)
    assert read["read"] > 0
    fresh = open_again(uri)
    ids = set(fresh.snapshot().table("node:Person").scan(columns=["id"])["id"].to_pylist())
    assert ids == {*one, *two}
    fresh.cleanup(keep=1)
    assert open_again(uri).repair().ok
