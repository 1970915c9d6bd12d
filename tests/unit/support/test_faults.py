"""The store that fails on purpose."""

from __future__ import annotations

import pytest

from omnigraph.base.errors import AlreadyExists, NotFound, Unavailable
from omnigraph.storage.objects import ObjectStore, open_store
from support.faults import Fault, FaultyStore


@pytest.fixture
def memory() -> ObjectStore:
    store = open_store("memory://faults")
    for found in list(store.list()):
        store.delete(found.path)
    return store


def test_without_faults_every_call_passes(memory: ObjectStore) -> None:
    store = FaultyStore(memory)
    store.create("a", b"1")
    store.put("b", b"1")
    store.replace("a", b"2", store.get_versioned("a").etag)
    store.move("b", "c")
    assert [found.path for found in store.list()] == ["a", "c"]
    assert store.exists("a")
    assert store.get_many(["a", "b"]) == [b"2", None]
    store.delete("a")
    with pytest.raises(NotFound):
        store.get("a")


def test_a_fault_before_the_effect_leaves_no_trace(memory: ObjectStore) -> None:
    store = FaultyStore(memory, Fault("put"))
    with pytest.raises(Unavailable):
        store.put("a", b"1")
    assert not memory.exists("a")
    store.put("a", b"2")
    assert memory.get("a") == b"2"


def test_a_fault_after_the_effect_loses_only_the_acknowledgement(memory: ObjectStore) -> None:
    store = FaultyStore(memory, Fault("create", after=True))
    with pytest.raises(Unavailable):
        store.create("a", b"1")
    assert memory.get("a") == b"1"
    with pytest.raises(AlreadyExists):
        store.create("a", b"1")


def test_a_fault_waits_for_its_path_and_its_turn(memory: ObjectStore) -> None:
    fault = Fault("put", "plans/*", nth=2, times=2)
    store = FaultyStore(memory, fault)
    store.put("other", b"")
    store.put("plans/1", b"")
    assert not fault.fired
    for _ in range(2):
        with pytest.raises(Unavailable):
            store.put("plans/x/2", b"")
    assert fault.fired
    store.put("plans/3", b"")


@pytest.mark.parametrize("kind", ["get", "delete", "head", "list", "move", "replace"])
def test_every_kind_of_call_can_fail(memory: ObjectStore, kind: str) -> None:
    memory.put("a", b"")
    store = FaultyStore(memory, Fault(kind, error=Unavailable("this one")))
    calls = {
        "get": lambda: store.get("a"),
        "delete": lambda: store.delete("a"),
        "head": lambda: store.exists("a"),
        "list": store.list,
        "move": lambda: store.move("a", "b"),
        "replace": lambda: store.replace("a", b"", ""),
    }
    with pytest.raises(Unavailable, match="this one"):
        calls[kind]()
    assert memory.exists("a")


def test_a_misspelt_kind_is_refused() -> None:
    with pytest.raises(AssertionError, match="putt"):
        Fault("putt")
