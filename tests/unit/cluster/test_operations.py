"""What an operator does with a cluster, on disk and in S3."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.telemetry import measure
from omnigraph.cluster.operations.cluster import Cluster
from omnigraph.cluster.store.layout import payload_path
from support.clusters import OLDER, PEOPLE, POLICY, TEAM, begin, change_by_hand, dispositions, write_cluster
from support.s3 import S3

Begin = Callable[..., Cluster]


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str | None, dict[str, str] | None]:
    """Where the cluster is stored: beside its files, or in a bucket."""
    if request.param == "local":
        return None, None
    bucket: S3 = request.getfixturevalue("s3")
    return f"{bucket.uri}/cluster", bucket.options


def test_a_cluster_is_made_changed_and_emptied(
    tmp_path: Path, root: tuple[str | None, dict[str, str] | None]
) -> None:
    storage, options = root
    more = "policies:\n  p: { file: p.yaml, applies_to: [people] }\n"
    (tmp_path / "p.yaml").write_text(POLICY)
    write_cluster(tmp_path, ("people", "papers"), storage=storage, more=more)
    cluster = begin(tmp_path, options)
    with measure() as counts:
        again = cluster.apply()
    writes = {name: n for name, n in counts.as_dict().items() if name.split(".")[1] in WRITES}
    assert again["changes"] == [] and not again["wrote"] and again["converged"]
    assert writes == {"objects.create": 1, "objects.delete": 1}, "only the lock is written"

    write_cluster(tmp_path, ("people", "papers"), schema=OLDER, storage=storage, queries={})
    assert dispositions(cluster.plan()) == {
        "graph.people": "update derived",
        "graph.papers": "update derived",
        "schema.people": "update applied",
        "schema.papers": "update applied",
        "query.people.everybody": "delete applied",
        "query.papers.everybody": "delete applied",
        "policy.p": "delete applied",
    }
    assert cluster.apply()["converged"]
    assert "town" in og.open(address(tmp_path, storage, "people"), storage_options=options).schema.source

    write_cluster(tmp_path, ("people",), schema=OLDER, storage=storage, queries={})
    deferred = cluster.apply()
    assert (deferred.ok, deferred["converged"]) == (True, False) and "approval_required" in deferred.codes
    assert deferred["approvals_required"] == ["graph.papers"]
    assert cluster.approve("graph.papers")["created"]
    assert cluster.apply()["converged"]
    with pytest.raises(og.NotAGraph):
        og.open(address(tmp_path, storage, "papers"), storage_options=options)
    status = cluster.status()
    assert (
        status.ok
        and status["approvals"] == []
        and set(status["resources"])
        == {
            "graph.people",
            "schema.people",
        }
    )


WRITES = ("put", "create", "replace", "delete", "move", "discard", "jot")


def address(folder: Path, storage: str | None, id: str) -> str:
    return f"{storage or folder}/graphs/{id}.omni"


def test_nothing_is_applied_before_there_is_a_ledger_and_there_is_one_only(tmp_path: Path) -> None:
    cluster = Cluster(write_cluster(tmp_path))
    with pytest.raises(og.NotFound, match="import"):
        cluster.apply()
    assert cluster.import_().ok
    with pytest.raises(og.AlreadyExists):
        cluster.import_()
    assert not (tmp_path / "__cluster" / "lock.json").exists()


def test_an_import_takes_graphs_that_are_there_as_they_are(tmp_path: Path) -> None:
    write_cluster(tmp_path, ("people", "papers"))
    og.init(tmp_path / "graphs/people.omni", PEOPLE + "\n// said otherwise\n")
    og.init(tmp_path / "graphs/papers.omni", "node Paper { title: String @key }")
    og.init(tmp_path / "graphs/stray.omni", PEOPLE)
    cluster = Cluster(tmp_path)
    assert "undeclared_graph" in cluster.import_().codes
    assert dispositions(cluster.plan()) == {
        "graph.papers": "update derived",
        "schema.papers": "update applied",
        "query.people.everybody": "create applied",
        "query.papers.everybody": "create applied",
        "graph.people": "update derived",
    }
    assert cluster.apply()["converged"]
    assert og.open(tmp_path / "graphs/stray.omni").schema.source == PEOPLE


def test_an_approval_is_stale_as_soon_as_anything_moves(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path, ("people", "old")))
    write_cluster(tmp_path)
    given = cluster.approve("graph.old")["approval"]["id"]
    assert cluster.approve("graph.old")["approval"]["id"] == given, "it stands"
    write_cluster(tmp_path, schema=OLDER)
    moved = cluster.plan()
    assert "approval_stale" in moved.codes
    assert dispositions(moved)["graph.old"] == "delete deferred"
    write_cluster(tmp_path)
    change_by_hand(tmp_path, OLDER, "old")
    assert "approval_stale" in cluster.apply().codes, "the graph itself has moved"
    assert (tmp_path / "graphs/old.omni").exists()
    cluster.approve("graph.old")
    assert cluster.apply()["converged"]
    assert not (tmp_path / "graphs/old.omni").exists()
    with pytest.raises(og.BadInput, match="is not changed by the plan"):
        cluster.approve("graph.old")


def test_a_missing_root_is_made_again_and_empty(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path, ("people", "papers")))
    graph = og.open(tmp_path / "graphs/people.omni")
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    shutil.rmtree(tmp_path / "graphs/people.omni")
    seen = cluster.refresh()
    assert "graph_root_missing" in seen.codes and seen["drifted"] == ["graph.people", "schema.people"]
    assert "graph.people" not in applied(tmp_path)
    assert dispositions(cluster.plan())["graph.people"] == "create applied"
    assert cluster.apply()["converged"]
    made = og.open(tmp_path / "graphs/people.omni")
    assert made.query("query q() { match { $p: Person } return { $p.name } }").rows == []


def test_a_schema_that_was_changed_by_hand_is_changed_back(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path))
    change_by_hand(tmp_path, OLDER)
    assert cluster.refresh()["drifted"] == ["schema.people"]
    assert cluster.status()["resources"]["schema.people"]["status"] == "drifted"
    assert dispositions(cluster.plan()) == {"schema.people": "update applied"}
    assert cluster.apply()["converged"]
    assert "town" not in og.open(tmp_path / "graphs/people.omni").schema.source
    assert cluster.refresh()["drifted"] == []


def test_a_schema_that_was_changed_by_hand_to_what_is_declared_is_only_recorded(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path))
    graph = og.open(tmp_path / "graphs/people.omni")
    change_by_hand(tmp_path, OLDER)
    write_cluster(tmp_path, schema=OLDER)
    commits = len(list(graph.commits.list()))
    assert cluster.apply()["converged"]
    assert len(list(graph.commits.list())) == commits


@pytest.mark.parametrize("damage", ["missing", "mismatched"])
def test_a_damaged_payload_is_published_again(tmp_path: Path, damage: str) -> None:
    cluster = begin(write_cluster(tmp_path))
    digest = applied(tmp_path)["query.people.everybody"]["digest"]
    path = tmp_path / payload_path("query.people.everybody", digest)
    path.unlink() if damage == "missing" else path.write_text("query everybody() {}")
    assert f"payload_{damage}" in cluster.status().codes and not cluster.status().ok
    assert cluster.refresh()["drifted"] == ["query.people.everybody"]
    assert "query.people.everybody" not in applied(tmp_path)
    assert cluster.apply()["converged"]
    assert path.read_text() == TEAM and cluster.status().ok


def test_a_schema_change_that_stored_rows_forbid_leaves_no_intent_and_blocks_its_dependents(
    tmp_path: Path,
) -> None:
    cluster = begin(write_cluster(tmp_path, ("people", "papers")))
    graph = og.open(tmp_path / "graphs/people.omni")
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    write_cluster(tmp_path, ("people", "papers"), schema=PEOPLE.replace("age: I32?", "age: I32"))
    done = cluster.apply()
    assert (done.ok, done["converged"]) == (False, False)
    assert dispositions(done)["schema.people"] == "update blocked"
    assert dispositions(done)["schema.papers"] == "update applied", "the other graph goes on"
    assert list((tmp_path / "__cluster/recoveries").iterdir()) == []
    assert cluster.status()["resources"]["schema.people"]["status"] == "error"


def test_a_graph_that_the_ledger_does_not_know_is_not_taken_over_in_passing(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path))
    og.init(tmp_path / "elsewhere", PEOPLE)
    shutil.move(tmp_path / "elsewhere", tmp_path / "graphs/papers.omni")
    write_cluster(tmp_path, ("people", "papers"))
    assert "graph_root_exists" in cluster.apply().codes
    assert cluster.refresh().ok
    assert cluster.apply()["converged"]


def test_only_the_exact_lock_is_forced(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path))
    lock = tmp_path / "__cluster/lock.json"
    lock.write_text(
        json.dumps({"version": 1, "lock_id": "L1", "operation": "apply", "created_at": 0, "pid": 1})
    )
    with pytest.raises(og.ClusterLockHeld) as caught:
        cluster.apply()
    assert caught.value.lock_id == "L1"
    assert cluster.status()["lock"]["lock_id"] == "L1", "status needs no lock"
    with pytest.raises(og.BadInput):
        cluster.force_unlock("L")
    cluster.force_unlock("L1")
    assert cluster.apply().ok


def test_a_state_of_a_later_release_or_a_damaged_one_is_refused_and_kept(tmp_path: Path) -> None:
    cluster = begin(write_cluster(tmp_path))
    state = tmp_path / "__cluster/state.json"
    for text, error in (("{", og.CorruptState), ('{"version": 9}', og.FormatTooNew), ("[]", og.CorruptState)):
        state.write_text(text)
        with pytest.raises(error):
            cluster.apply()
        assert state.read_text() == text


def applied(folder: Path) -> dict[str, dict[str, str]]:
    found = json.loads((folder / "__cluster/state.json").read_text())
    resources: dict[str, dict[str, str]] = found["applied_revision"]["resources"]
    return resources
