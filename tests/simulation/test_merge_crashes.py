"""Section 4.5 of the crash matrix: a merge killed with SIGKILL at every failpoint on its way.

The numbers in comments are the assertions of section 5.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.model.arrow_values import rows_to_plain
from support.compaction import Compaction
from support.graphs import notes, plan_paths
from support.workers import Worker

SCHEMA = """
node Person { name: String @key  note: String? }
node City { name: String @key  note: String? }
edge Knows: Person -> Person { note: String? }
"""
WIDER = SCHEMA.replace("node City {", "node City { size: I32 @default(1) ")
KINDS = ("fast_forward", "merged", "net_zero", "schema", "both_schemas")
OLD, NEW = "old", "new"

State = dict[str, dict[str, dict[str, Any]]]


def read(graph: og.Graph, branch: str = "main") -> State:
    """Return every row of a branch."""
    snapshot = graph.snapshot(branch)
    return {
        table.table_key: {
            row.pop("id"): row for row in rows_to_plain(table, snapshot.table(table.table_key).scan())
        }
        for table in snapshot.catalog.tables
    }


def person(name: str, note: str | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "note": note}}


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For every kind of merge a graph whose branch `work` is about to be merged into main, and a `side`."""
    return {kind: _template(kind, tmp_path_factory.mktemp(kind) / "graph") for kind in KINDS}


def _template(kind: str, root: Path) -> Path:
    graph = og.init(root, SCHEMA)
    known = [{"edge": "Knows", "from": "p1", "to": "p2", "data": {"id": "k1"}}]
    graph.load([*(person(f"p{n}") for n in range(1, 6)), *known], mode="append")
    for branch in ("work", "side"):
        graph.branches.create(branch)
    if kind == "net_zero":
        graph.load([person("p9")], mode="merge", branch="work")
        graph.mutate('query q() { delete Person where name = "p9" }', branch="work")
    else:
        graph.load([person("p1", "work"), person("w1")], mode="merge", branch="work")
        graph.load([{"type": "City", "data": {"name": "oslo"}}], mode="merge", branch="work")
        graph.mutate('query q() { delete Person where name = "p5" }', branch="work")
    if kind in ("schema", "both_schemas"):
        og.open(root, branch="work").schema.apply(WIDER)
    if kind == "both_schemas":
        graph.schema.apply("node Person { nick: String? }\nnode Club { name: String @key }", mode="extend")
    if kind != "fast_forward":
        graph.load([person("p2", "main"), person("m1")], mode="merge")
        edge = {"edge": "Knows", "from": "m1", "to": "p2", "data": {"id": "k2"}}
        graph.load([edge], mode="merge")
    return root


@pytest.fixture
def graph_of(
    templates: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """Copies of the templates; nobody waits long for a parked writer's turn to end."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    return lambda kind: Path(shutil.copytree(templates[kind], tmp_path / kind))


def merged_state(root: Path) -> State:
    """Return what the merge makes of a graph, found out in a copy."""
    copy = Path(shutil.copytree(root, root.with_name("finished")))
    graph = og.open(copy)
    graph.branches.merge("work")
    return read(graph)


def _cells() -> list[tuple[str, str, str, str, int]]:
    cells = []
    for kind in KINDS:
        early = ["merge.after_capture", "write.after_stage", "merge.after_checks"]
        if kind in ("merged", "schema", "both_schemas"):
            early += ["table.before_pin", "table.after_pin", "write.after_table_commit"]
        early += ["write.after_all_tables", "plan.before_put"]
        cells += [(kind, point, OLD, OLD, 0) for point in early]
        cells += [(kind, point, OLD, NEW, 1) for point in ("plan.after_put", "publish.before_record")]
        cells += [(kind, point, NEW, NEW, 1) for point in ("publish.after_record", "plan.before_delete")]
    return cells


@pytest.mark.parametrize(("kind", "point", "at_once", "recovered", "noted"), _cells())
def test_a_killed_merge_leaves_the_whole_old_or_the_whole_new_graph(
    kind: str,
    point: str,
    at_once: str,
    recovered: str,
    noted: int,
    graph_of: Callable[[str], Path],
    worker: Worker,
) -> None:
    root = graph_of(kind)
    reader, survivor = og.open(root, read_only=True), og.open(root, actor="survivor")
    before, side = reader.snapshot(), read(reader, "side")
    states = {OLD: read(reader), NEW: merged_state(root)}
    theirs = reader.snapshot("work").commit_id
    worker.tell("merge", str(root), "work", failpoints=f"{point}=kill@1")
    worker.die()
    # (1)
    assert read(reader) == states[at_once]
    assert read(og.open(root, read_only=True)) == states[at_once]
    assert len(plan_paths(str(root))) == noted
    # (2) by the next write of any kind, on a handle that was open all the time
    survivor.load([{"type": "City", "data": {"name": "rome"}}], mode="merge")
    assert plan_paths(str(root)) == []
    found = read(reader)
    assert found["node:City"].pop("rome") is not None
    assert found == states[recovered]
    assert notes(survivor) == ["RolledForward"] * noted
    # (3, 4)
    assert read(reader, "side") == side
    merges = [commit for commit in survivor.commits.list() if commit.operation == "merge"]
    assert len(merges) == (recovered == NEW)
    for commit in merges:
        assert (commit.parent, commit.merged_parent, commit.actor) == (before.commit_id, theirs, "merger")
    # (6)
    head = reader.snapshot().commit_id
    assert og.open(root).snapshot().commit_id == head
    # (5, 8)
    done = og.open(root).branches.merge("work")
    assert (done.outcome == "already_up_to_date") == (recovered == NEW)
    found = read(reader)
    assert found["node:City"].pop("rome") is not None
    assert found == states[NEW]
    if kind == "net_zero" and recovered == NEW:
        pins = [record.pin.path for record in reader.internals.core.truth.state("main").head.tables.values()]
        kept = [record.pin.path for record in before.record.tables.values()]
        assert len(set(kept) - set(pins)) == 1, "only the table that was written afterwards has moved"


def test_a_merge_with_conflicts_leaves_no_plan_and_no_file_that_anybody_sees(
    graph_of: Callable[[str], Path],
) -> None:
    root = graph_of("merged")
    graph = og.open(root)
    graph.load([person("p1", "main")], mode="merge")
    before = graph.snapshot()
    with pytest.raises(og.MergeConflicts) as caught:
        graph.branches.merge("work")
    assert [item.entity_id for item in caught.value.conflicts] == ["p1"]
    assert plan_paths(str(root)) == []
    assert graph.snapshot().tables == before.tables
    assert graph.snapshot().commit_id == before.commit_id


def _parked(root: Path, worker: Worker, meanwhile: Callable[[og.Graph], object]) -> None:
    worker.tell("merge", str(root), "work", failpoints="plan.after_put=park")
    worker.wait_parked("plan.after_put")
    meanwhile(og.open(root))
    worker.kill()


@pytest.mark.parametrize("kind", ["fast_forward", "merged", "schema", "both_schemas"])
def test_a_plan_whose_target_advanced_is_discarded_with_one_note_and_the_winner_stays(
    kind: str, graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of(kind)
    _parked(root, worker, lambda graph: graph.load([person("p3", "winner")], mode="merge"))
    graph = og.open(root)
    assert notes(graph) == ["RolledBack"]
    assert read(graph)["node:Person"]["p3"]["note"] == "winner"
    assert "w1" not in read(graph)["node:Person"]
    assert graph.branches.merge("work").outcome == "merged"
    people = read(graph)["node:Person"]
    assert people["p3"]["note"] == "winner"
    assert people["p1"]["note"] == "work"
    assert "p5" not in people


@pytest.mark.parametrize("kind", ["fast_forward", "merged", "net_zero"])
def test_a_plan_is_rolled_forward_over_maintenance_of_the_target(
    kind: str, graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of(kind)
    expected = merged_state(root)
    _parked(root, worker, lambda graph: graph.commit_work(Compaction()))
    graph = og.open(root)
    assert notes(graph) == ["RolledForward"]
    assert read(graph) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_rolled_forward_though_its_source_is_gone(
    kind: str, graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of(kind)
    expected = merged_state(root)
    _parked(root, worker, lambda graph: graph.branches.delete("work"))
    graph = og.open(root)
    assert notes(graph) == ["RolledForward"]
    assert read(graph) == expected


def test_a_plan_of_a_deleted_target_is_discarded_with_one_note_on_main(
    graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of("merged")
    worker.tell("merge", str(root), "work", "side", failpoints="plan.after_put=park")
    worker.wait_parked("plan.after_put")
    og.open(root).branches.delete("side")
    worker.kill()
    assert notes(og.open(root)) == ["OrphanedBranchDiscarded"]
    assert plan_paths(str(root)) == []


def test_a_plan_that_cannot_be_stored_stops_the_merge_before_anything_is_visible(
    graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of("merged")
    before = og.open(root, read_only=True).snapshot().commit_id
    with pytest.raises(OSError, match="injected"):
        worker.ask("merge", str(root), "work", failpoints="plan.before_put=raise")
    assert og.open(root, read_only=True).snapshot().commit_id == before
    assert worker.ask("merge", str(root), "work").outcome == "merged"


def test_a_plan_that_cannot_be_deleted_does_not_fail_the_merge(
    graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of("merged")
    done = worker.ask("merge", str(root), "work", failpoints="plan.before_delete=raise")
    assert done.outcome == "merged"
    worker.kill()
    graph = og.open(root)
    assert graph.snapshot().commit.operation in ("merge", "recovery")
    assert notes(graph) == ["RolledForward"]


@pytest.mark.parametrize(
    ("point", "switched"),
    [
        ("write.after_all_tables", False),
        ("publish.before_record@1", False),
        ("publish.after_record@2", False),
        ("branch.rebase.before_close", False),
        ("branch.rebase.after_close", True),
    ],
)
def test_a_killed_rebase_left_the_whole_old_or_the_whole_new_branch(
    point: str, switched: bool, graph_of: Callable[[str], Path], worker: Worker
) -> None:
    root = graph_of("merged")
    reader = og.open(root, read_only=True)
    before, main, old = reader.snapshot("work").commit_id, read(reader), read(reader, "work")
    expected = merged_state(root)
    name, _, nth = point.partition("@")
    worker.tell(
        "held", str(root), "main", "branches.rebase", ["work"], {}, failpoints=f"{name}=kill@{nth or 1}"
    )
    worker.die()
    for graph in (reader, og.open(root, read_only=True), og.open(root)):
        assert read(graph) == main
        assert read(graph, "work") == (expected if switched else old)
        assert graph.branches.list() == ["main", "side", "work"]
    survivor = og.open(root)
    assert (survivor.snapshot("work").commit_id == before) == (not switched)
    survivor.load([person("next")], mode="append", branch="work")
    done = survivor.branches.rebase("work")
    assert (done.outcome == "already_up_to_date") == switched
    assert set(read(survivor, "work")["node:Person"]) == {*expected["node:Person"], "next"}
    assert survivor.branches.merge("work").outcome == "fast_forward"
    assert notes(survivor) == []
