"""The objects of a cluster whose writes land, but without an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import (
    AlreadyExists,
    ClusterLockHeld,
    OmniError,
    PreconditionFailed,
    StateCasMismatch,
    Unavailable,
)
from omnigraph.cluster.config.digests import hash_bytes
from omnigraph.cluster.operations import cluster as operations
from omnigraph.cluster.operations.cluster import Cluster
from omnigraph.cluster.store import layout, lock
from omnigraph.cluster.store.approvals import Approvals, ApprovalTerms
from omnigraph.cluster.store.intents import Intents
from omnigraph.cluster.store.ledger import Ledger, LedgerState, StoredState
from omnigraph.cluster.store.lock import ClusterLock
from omnigraph.cluster.store.payloads import Payloads
from omnigraph.storage.objects import ObjectStore, open_store
from support.clusters import TEAM, begin, write_cluster
from support.faults import Fault, FaultyStore

ANSWERS = [Unavailable("lost"), AlreadyExists("sent again"), PreconditionFailed("sent again")]
EVERY_ANSWER = pytest.mark.parametrize("answer", ANSWERS, ids=lambda error: type(error).__name__)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return open_store(str(tmp_path))


@EVERY_ANSWER
def test_a_first_state_whose_answer_was_lost_is_stored(store: ObjectStore, answer: OmniError) -> None:
    faulty = FaultyStore(store, Fault("create", layout.STATE, after=True, error=answer))
    first = Ledger(faulty).create(LedgerState("test"))
    assert first.revision == 1 and read(store).state == first


@EVERY_ANSWER
def test_a_swap_whose_answer_was_lost_has_happened(store: ObjectStore, answer: OmniError) -> None:
    Ledger(store).create(LedgerState("test"))
    before = read(store)
    faulty = FaultyStore(store, Fault("replace", layout.STATE, after=True, error=answer))
    after = Ledger(faulty).swap(before, before.state.with_changes(config_digest="d"))
    assert (after.revision, after.config_digest) == (2, "d") and read(store).state == after


def test_the_same_state_of_somebody_else_is_theirs(store: ObjectStore) -> None:
    theirs = Ledger(store).create(LedgerState("test"))
    with pytest.raises(AlreadyExists, match="has a state already"):
        Ledger(store).create(LedgerState("test"))
    before = read(store)
    Ledger(store).swap(before, theirs)
    with pytest.raises(StateCasMismatch, match="since revision 1"):
        Ledger(store).swap(before, theirs)


@pytest.mark.parametrize("kind", ["create", "replace"])
def test_a_state_that_did_not_land_is_unavailable(store: ObjectStore, kind: str) -> None:
    if kind == "replace":
        Ledger(store).create(LedgerState("test"))
    found = Ledger(store).read()
    ledger = Ledger(FaultyStore(store, Fault(kind, layout.STATE)))
    with pytest.raises(Unavailable):
        ledger.swap(found, found.state) if found else ledger.create(LedgerState("test"))
    assert Ledger(store).read() == found


@EVERY_ANSWER
def test_a_lock_whose_answer_was_lost_is_held_and_released(store: ObjectStore, answer: OmniError) -> None:
    faulty = FaultyStore(store, Fault("create", layout.LOCK, after=True, error=answer))
    with ClusterLock(faulty).hold("apply") as mine:
        assert ClusterLock(store).read() == mine
    assert ClusterLock(store).read() is None


def test_a_lock_that_landed_unseen_is_not_left_behind(store: ObjectStore) -> None:
    faulty = FaultyStore(store, Fault("create", layout.LOCK, after=True), Fault("get", layout.LOCK))
    with pytest.raises(Unavailable), ClusterLock(faulty).hold("apply"):
        pytest.fail("it is not known to be held")
    assert ClusterLock(store).read() is None


def test_the_lock_of_somebody_else_stays(store: ObjectStore) -> None:
    with ClusterLock(store).hold("apply") as theirs:
        with pytest.raises(ClusterLockHeld) as held, ClusterLock(store).hold("plan"):
            pytest.fail("somebody else holds it")
        assert held.value.lock_id == theirs.lock_id
        assert ClusterLock(store).read() == theirs


@pytest.mark.parametrize(
    "fault",
    [
        Fault("get", layout.LOCK, times=2),
        Fault("delete", layout.LOCK, times=2),
        Fault("delete", layout.LOCK, after=True),
    ],
    ids=["not read", "not removed", "removed unseen"],
)
def test_a_lock_is_removed_once_storage_answers(store: ObjectStore, fault: Fault) -> None:
    left: list[str] = []
    with ClusterLock(FaultyStore(store, fault)).hold("apply", on_left=left.append):
        pass
    assert fault.fired and left == []
    assert ClusterLock(store).read() is None


def test_what_was_done_under_a_lock_that_stays_stands_and_the_lock_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_RELEASE_PAUSE_SECONDS", (0.0,))
    cluster = begin_on(tmp_path, monkeypatch, Fault("delete", layout.LOCK))
    done = cluster.import_()
    stays = ClusterLock(open_store(str(tmp_path))).read()
    assert stays is not None
    (finding,) = [item for item in done.diagnostics if item.code == "lock_left"]
    assert done.ok and finding.severity == "warning"
    assert f"omnigraph cluster force-unlock {stays.lock_id}" in finding.message
    with pytest.raises(ClusterLockHeld):
        cluster.apply()
    cluster.force_unlock(stays.lock_id)
    with (
        pytest.raises(ValueError, match="the block's own"),
        ClusterLock(FaultyStore(open_store(str(tmp_path)), Fault("delete", layout.LOCK))).hold("apply"),
    ):
        raise ValueError("the block's own")


@EVERY_ANSWER
def test_an_approval_and_an_intent_whose_answers_were_lost_are_stored_once(
    store: ObjectStore, answer: OmniError
) -> None:
    faults = [
        Fault("create", f"{layout.APPROVALS}/*", after=True, error=answer),
        Fault("create", f"{layout.RECOVERIES}/*", after=True, error=answer),
    ]
    faulty = FaultyStore(store, *faults)
    given = Approvals(faulty).create("graph.people", ApprovalTerms("d", None, None), "act-ada")
    intent = Intents(faulty).put("graph_create", "people")
    assert all(fault.fired for fault in faults)
    assert Approvals(store).list_open() == [given]
    assert Intents(store).list() == ([intent], [])


def test_an_intent_that_is_not_known_to_be_stored_is_not_left_behind(store: ObjectStore) -> None:
    path = f"{layout.RECOVERIES}/*"
    faulty = FaultyStore(store, Fault("create", path, after=True), Fault("get", path))
    with pytest.raises(Unavailable):
        Intents(faulty).put("graph_create", "people")
    assert Intents(store).list() == ([], [])


def test_a_payload_whose_answer_was_lost_is_stored(store: ObjectStore) -> None:
    data = TEAM.encode()
    digest = hash_bytes(data)
    faulty = FaultyStore(store, Fault("put", "*", after=True))
    assert Payloads(faulty).put("query.people.everybody", digest, data)
    assert Payloads(store).read("query.people.everybody", digest) == data
    with pytest.raises(Unavailable):
        Payloads(FaultyStore(store, Fault("put", "*"))).put("query.people.other", digest, data)


def test_what_is_tidied_after_the_ledger_was_written_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cluster(tmp_path, ("people",))
    begin(tmp_path)
    write_cluster(tmp_path, ())
    faults = [
        Fault("delete", f"{layout.RECOVERIES}/*"),
        Fault("put", f"{layout.APPROVALS}/*"),
    ]
    cluster = begin_on(tmp_path, monkeypatch, *faults)
    cluster.approve("graph.people")
    done = cluster.apply()
    assert all(fault.fired for fault in faults)
    assert done.ok and done["converged"]
    assert [item.code for item in done.diagnostics] == ["not_tidied", "not_tidied"]
    again = cluster.apply()
    assert again["changes"] == [] and not again.codes
    assert Intents(open_store(str(tmp_path))).list() == ([], [])


def begin_on(folder: Path, monkeypatch: pytest.MonkeyPatch, *faults: Fault) -> Cluster:
    if not (folder / "cluster.yaml").exists():
        write_cluster(folder, ())
    monkeypatch.setattr(
        operations,
        "open_store",
        lambda root, options: FaultyStore(open_store(root, options), *faults),
    )
    return Cluster(folder, actor="act-ada")


def test_an_operator_does_not_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [
        Fault("create", layout.LOCK, times=2, after=True),
        Fault("create", layout.STATE, after=True),
        Fault("replace", layout.STATE, after=True),
    ]
    cluster = begin_on(tmp_path, monkeypatch, *faults)
    assert cluster.import_().ok
    assert cluster.apply()["converged"]
    assert all(fault.fired for fault in faults)
    assert not (tmp_path / layout.LOCK).exists()


def read(store: ObjectStore) -> StoredState:
    found = Ledger(store).read()
    assert found is not None
    return found
