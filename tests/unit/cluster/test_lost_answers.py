"""The ledger and the lock of a cluster whose writes land, but without an answer."""

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
from omnigraph.cluster.operations import cluster as operations
from omnigraph.cluster.operations.cluster import Cluster
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.ledger import Ledger, LedgerState, StoredState
from omnigraph.cluster.store.lock import ClusterLock
from omnigraph.storage.objects import ObjectStore, open_store
from support.clusters import write_cluster
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


def test_an_operator_does_not_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cluster(tmp_path, ())
    faults = [
        Fault("create", layout.LOCK, times=2, after=True),
        Fault("create", layout.STATE, after=True),
        Fault("replace", layout.STATE, after=True),
    ]
    monkeypatch.setattr(
        operations,
        "open_store",
        lambda root, options: FaultyStore(open_store(root, options), *faults),
    )
    cluster = Cluster(tmp_path)
    assert cluster.import_().ok
    assert cluster.apply()["converged"]
    assert all(fault.fired for fault in faults)
    assert not (tmp_path / layout.LOCK).exists()


def read(store: ObjectStore) -> StoredState:
    found = Ledger(store).read()
    assert found is not None
    return found
