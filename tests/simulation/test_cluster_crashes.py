"""Clusters whose operator dies anywhere: what stands is whole, and the next apply finishes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.cluster.operations.cluster import Cluster
from support.clusters import OLDER, PEOPLE, begin, change_by_hand, dispositions, write_cluster
from support.s3 import S3
from support.workers import Worker, Workers

# Points, and the kind of movement that the next run takes in; None where there is none to take in.
POINTS: list[tuple[str, str | None]] = [
    ("cluster.before_create", None),
    ("init.after_schema", "incomplete"),
    ("init.after_tables", "incomplete"),
    ("cluster.after_create", "graph_create"),
    ("cluster.before_schema", "graph_create"),
    ("cluster.after_schema", "schema_apply"),
    ("cluster.after_payloads", "schema_apply"),
    ("cluster.before_delete", "schema_apply"),
    ("cluster.delete.after_manifest", "schema_apply"),
    ("cluster.after_delete", "graph_delete"),
    ("cluster.before_state", "graph_delete"),
    ("cluster.after_state", None),
    ("cluster.before_intent_delete", None),
    ("cluster.before_approval_note", None),
]
NEW_QUERIES = {"all": "query everybody() {\n  match { $p: Person }\n  return { $p.age }\n}\n"}


def prepare(folder: Path, storage: str | None = None, options: dict[str, str] | None = None) -> Cluster:
    """Return a cluster that is about to make one graph, change one, and remove one."""
    write_cluster(folder, ("people", "old"), storage=storage)
    cluster = begin(folder, options)
    graph = og.open(f"{storage or folder}/graphs/people.omni", storage_options=options)
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    write_cluster(folder, ("people", "fresh"), schema=OLDER, queries=NEW_QUERIES, storage=storage)
    cluster.approve("graph.old")
    return cluster


def state_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "__cluster/state.json").read_text())
    return found


@pytest.mark.parametrize(("point", "moved"), POINTS)
def test_whoever_dies_applying_is_followed_by_one_who_finishes(
    tmp_path: Path, worker: Worker, point: str, moved: str | None
) -> None:
    cluster = prepare(tmp_path)
    before = (tmp_path / "__cluster/state.json").read_bytes()
    worker.tell("apply_cluster", str(tmp_path), failpoints=f"{point}=kill@1")
    worker.die()
    is_written = point in (
        "cluster.after_state",
        "cluster.before_intent_delete",
        "cluster.before_approval_note",
    )
    assert ((tmp_path / "__cluster/state.json").read_bytes() == before) != is_written
    assert og.open(tmp_path / "graphs/people.omni").query(ALL).rows == [{"p.name": "ada"}]

    with pytest.raises(og.ClusterLockHeld) as held:
        cluster.apply()
    cluster.force_unlock(held.value.lock_id)
    if moved == "incomplete":
        left = sorted(str(path) for path in (tmp_path / "graphs/fresh.omni").rglob("*"))
        blocked = cluster.apply()
        assert not blocked.ok and "graph_create_incomplete" in blocked.codes
        assert dispositions(blocked)["graph.fresh"] == "update blocked"
        assert dispositions(blocked)["query.fresh.everybody"] == "create blocked"
        assert dispositions(blocked)["schema.people"] == "update applied", "the others go on"
        assert sorted(str(path) for path in (tmp_path / "graphs/fresh.omni").rglob("*")) == left
        (tmp_path / "graphs/fresh.omni").rename(tmp_path / "aside")
    done = cluster.apply()
    assert done.ok and done["converged"], done.to_json()
    check_finished(tmp_path, cluster)
    kinds = {item["kind"] for item in state_of(tmp_path)["recovery_records"]}
    if moved not in (None, "incomplete"):
        assert moved in kinds
    elif moved is None:
        assert kinds == set()


ALL = "query q() { match { $p: Person } return { $p.name } }"


def check_finished(folder: Path, cluster: Cluster) -> None:
    """See that all is as declared, that the approval was used once, and that nothing is left."""
    assert og.open(folder / "graphs/people.omni").schema.source == OLDER
    assert og.open(folder / "graphs/fresh.omni").schema.source == OLDER
    assert og.open(folder / "graphs/people.omni").query(ALL).rows == [{"p.name": "ada"}]
    assert not (folder / "graphs/old.omni").exists()
    assert list((folder / "__cluster/recoveries").iterdir()) == []
    assert not (folder / "__cluster/lock.json").exists()
    state = state_of(folder)
    assert [item["resource"] for item in state["approval_records"]] == ["graph.old"]
    assert state["observations"]["graph.old"]["approval"] == state["approval_records"][0]["id"]
    status = cluster.status()
    assert status.ok and status["converged"] and status["approvals"] == []
    before = (folder / "__cluster/state.json").read_bytes()
    assert cluster.apply()["changes"] == [] and cluster.refresh()["drifted"] == []
    assert (folder / "__cluster/state.json").read_bytes() == before


@pytest.mark.parametrize(
    "point", ["cluster.before_create", "cluster.before_schema", "cluster.after_payloads"]
)
def test_an_apply_that_fails_before_a_graph_moves_leaves_no_intent_and_no_lock(
    tmp_path: Path, point: str
) -> None:
    cluster = prepare(tmp_path)
    before = (tmp_path / "__cluster/state.json").read_bytes()
    with failpoints.arm_temporarily(point, "raise"), pytest.raises(failpoints.InjectedFault):
        cluster.apply()
    assert (tmp_path / "__cluster/state.json").read_bytes() == before
    assert not (tmp_path / "__cluster/lock.json").exists()
    left = (tmp_path / "__cluster/recoveries").iterdir()
    kinds = sorted(json.loads(path.read_text())["kind"] for path in left)
    assert (
        kinds
        == {
            "cluster.before_create": [],
            "cluster.before_schema": ["graph_create"],
            "cluster.after_payloads": ["graph_create", "schema_apply"],
        }[point]
    )
    assert cluster.apply()["converged"]
    check_finished(tmp_path, cluster)


def test_of_two_operators_one_works_and_the_other_is_told_who(tmp_path: Path, worker: Worker) -> None:
    cluster = prepare(tmp_path)
    worker.tell("apply_cluster", str(tmp_path), failpoints="cluster.before_state=park")
    worker.wait_parked("cluster.before_state")
    for act in (cluster.apply, cluster.plan, cluster.refresh):
        with pytest.raises(og.ClusterLockHeld) as held:
            act()
        assert (held.value.pid, held.value.operation) == (worker.pid, "apply")
    worker.release("cluster.before_state")
    assert worker.answer()["converged"]
    check_finished(tmp_path, cluster)


@pytest.mark.parametrize("storage", ["local", pytest.param("s3", marks=pytest.mark.s3)])
def test_of_two_operators_without_a_lock_one_wins_and_the_other_changes_nothing_of_his(
    tmp_path: Path, workers: Workers, storage: str, request: pytest.FixtureRequest
) -> None:
    root, options = None, None
    if storage == "s3":
        bucket: S3 = request.getfixturevalue("s3")
        root, options = f"{bucket.uri}/c", bucket.options
    worker = workers.take()
    write_cluster(tmp_path, storage=root, more="state: { lock: false }")
    cluster = begin(tmp_path, options)
    write_cluster(tmp_path, storage=root, more="state: { lock: false }", queries=NEW_QUERIES)
    worker.tell("apply_cluster", str(tmp_path), options, failpoints="cluster.before_state=park")
    worker.wait_parked("cluster.before_state")
    mine = cluster.apply()
    assert mine["converged"] and "state_lock_disabled" in mine.codes
    worker.release("cluster.before_state")
    with pytest.raises(og.StateCasMismatch):
        worker.answer()
    assert cluster.status()["state_revision"] == mine["state_revision"]
    assert cluster.apply()["changes"] == []


def test_a_graph_that_was_changed_between_two_runs_is_not_taken_for_the_run_that_died(
    tmp_path: Path, worker: Worker
) -> None:
    cluster = prepare(tmp_path)
    worker.tell("apply_cluster", str(tmp_path), failpoints="cluster.after_schema=kill@1")
    worker.die()
    other = PEOPLE.replace("age", "years")
    change_by_hand(tmp_path, other)
    cluster.force_unlock(cluster.status()["lock"]["lock_id"])
    stuck = cluster.apply()
    assert not stuck.ok and "schema_apply_pending" in stuck.codes
    assert dispositions(stuck)["schema.people"] == "update blocked"
    assert og.open(tmp_path / "graphs/people.omni").schema.source == other
    write_cluster(tmp_path, ("people", "fresh"), schema=other, queries={})
    assert cluster.apply()["converged"], "the schema that it has is declared"
