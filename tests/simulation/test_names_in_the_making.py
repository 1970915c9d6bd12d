"""Names that are no branch yet: nobody writes to them, and whatever happens to their maker loses nothing.

Each of these has lost or doubled something once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint, InjectedFault
from omnigraph.graph.maintenance.cleanup import dropping
from support.care import at_once
from support.interleaving import INSERT, NEW, assert_sound, at, names, put

PEOPLE = "node Person { name: String }"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    og.init(tmp_path / "graph", PEOPLE)
    yield str(tmp_path / "graph")
    failpoints._armed.clear()


def _die() -> None:
    raise InjectedFault("killed")


def _lose_next(
    graph: og.Graph, method: str, is_meant: Callable[..., bool], error: og.OmniError, meanwhile: Any = None
) -> None:
    """Let one request of a graph reach the store and its answer be lost, or fail before it."""
    store = graph.internals.core.truth.store
    kind = type(store)
    real = getattr(kind, method)

    def lost(self: Any, *given: Any) -> Any:
        if self is not store or not is_meant(*given):
            return real(self, *given)
        setattr(kind, method, real)
        if meanwhile is not None:
            real(self, *given)
            meanwhile()
        raise error

    setattr(kind, method, lost)


def _reads_floor(path: str) -> bool:
    return "floors" in path


def test_nobody_can_write_to_a_name_that_its_maker_may_take_back(root: str) -> None:
    maker = og.open(root)
    told: list[str] = []

    def others() -> None:
        assert og.open(root).branches.list() == ["main"]
        with pytest.raises(og.NotFound):
            put(og.open(root), "never", branch="c")
        told.append("refused")
        _lose_next(maker, "get_versioned", _reads_floor, og.Unavailable("timed out"))

    at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, others)
    with pytest.raises(og.Unavailable):
        maker.branches.create("c")
    assert told == ["refused"]
    og.open(root).branches.create("c")
    put(og.open(root), "kept", branch="c")
    assert names(root, branch="c") == ["kept"]
    assert_sound(root)


@pytest.mark.parametrize("killed", [False, True])
def test_a_branch_of_a_commit_that_a_cleanup_drops_meanwhile_is_not_made_and_stops_nothing(
    root: str, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = put(og.open(root), "m1")
    put(og.open(root), "m2", "m3")
    parked, go, told = threading.Event(), threading.Event(), list[str]()
    put_over = dropping.Dropping._put_over

    def hold() -> None:
        parked.set()
        assert go.wait(60)
        if killed:
            _die()

    def make() -> None:
        try:
            og.open(root).branches.create("c", commit=old)
        except (og.OmniError, InjectedFault) as error:
            told.append(type(error).__name__)

    maker = threading.Thread(target=make)

    def late(self: dropping.Dropping, dropped: Any) -> bool:
        if not parked.is_set():
            at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, hold)
            maker.start()
            assert parked.wait(60)
            with pytest.raises(og.NotFound):
                put(og.open(root), "never", branch="c")
        return put_over(self, dropped)

    monkeypatch.setattr(dropping.Dropping, "_put_over", late)
    og.open(root).cleanup(keep=1)
    go.set()
    maker.join(60)
    assert told == ["InjectedFault" if killed else "Contention"]
    assert og.open(root).branches.list() == ["main"]
    put(og.open(root), "m4")
    og.open(root).cleanup(keep=1)
    assert_sound(root)
    assert names(root) == ["m1", "m2", "m3", "m4"]


@pytest.mark.parametrize("way", ["restore", "load", "create"])
def test_a_deleted_branch_can_be_restored_after_somebody_failed_to_take_its_name(root: str, way: str) -> None:
    og.open(root).branches.create("x")
    put(og.open(root), "precious", branch="x")
    og.open(root).branches.delete("x")
    other = og.open(root)
    act: dict[str, Callable[[], object]] = {
        "restore": lambda: other.branches.restore("x"),
        "load": lambda: other.load(NEW, mode="append", branch="x", from_branch="main"),
        "create": lambda: other.branches.create("x"),
    }
    if way == "load":
        at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, _die)
    else:
        fail = lambda: _lose_next(other, "get_versioned", _reads_floor, og.Unavailable("timed out"))  # noqa: E731
        at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, fail)
    with pytest.raises((og.Unavailable, InjectedFault)):
        act[way]()
    assert og.open(root).branches.list() == ["main"]
    og.open(root).branches.restore("x")
    assert names(root, branch="x") == ["precious"]
    assert_sound(root)


def test_a_load_whose_branch_was_rebased_before_it_heard_of_it_is_made_once(root: str) -> None:
    graph = og.open(root)
    put(og.open(root), "a")

    def is_finish(path: str, data: bytes, etag: str) -> bool:
        return path.endswith("/dev.json") and b'"making"' not in data

    def others() -> None:
        put(og.open(root), "m")
        og.open(root).branches.rebase("dev")

    _lose_next(graph, "replace", is_finish, og.PreconditionFailed("sent again"), others)
    graph.load(
        [{"type": "Person", "data": {"name": "paid"}}], mode="append", branch="dev", from_branch="main"
    )
    assert names(root, branch="dev") == ["a", "m", "paid"]
    assert_sound(root)


def test_loads_that_make_the_same_branch_at_once_all_land(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(og.open(root), "a")
    meet = threading.Barrier(3)
    told: list[str | None] = []

    def load(number: int) -> None:
        graph = og.open(root)
        try:
            rows = [{"type": "Person", "data": {"name": f"w{number}"}}]
            told.append(graph.load(rows, mode="append", branch="dev", from_branch="main").commit_id)
        except og.OmniError as error:
            told.append(error.code)

    def together(reached: Failpoint) -> None:
        if (seen := next(turns, None)) is not None and seen < 3:
            meet.wait(60)

    turns = iter(range(100))
    failpoints._armed[Failpoint.BRANCH_CREATE_BEFORE_REF] = failpoints._Armed(together, None)
    threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert names(root, branch="dev") == ["a", "w0", "w1", "w2"], told
    assert_sound(root)


def test_a_branch_in_the_making_does_not_stop_its_parent_from_being_deleted(root: str) -> None:
    og.open(root).branches.create("p")
    put(og.open(root), "x", branch="p")
    at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, _die)
    with pytest.raises(InjectedFault):
        og.open(root).branches.create("kid", "p")
    og.open(root).branches.delete("p")
    assert og.open(root).branches.list() == ["main"]
    assert_sound(root)


def test_a_mark_whose_answer_was_lost_is_taken_back_when_the_delete_is_refused(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("p")
    put(og.open(root), "x", branch="p")
    graph.branches.create("kid", "p")

    def is_mark(path: str, data: bytes, etag: str) -> bool:
        return b'"marks":["' in data.replace(b" ", b"")

    _lose_next(graph, "replace", is_mark, og.PreconditionFailed("sent again"), lambda: None)
    with pytest.raises(og.BranchInUse):
        graph.branches.delete("p")
    og.open(root).branches.create("kid2", "p")


def test_the_mark_of_a_rebase_that_failed_is_taken_back(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("p")
    put(og.open(root), "x", branch="p")
    put(og.open(root), "m")
    fail = lambda: _lose_next(graph, "get_versioned", _reads_floor, og.Unavailable("timed out"))  # noqa: E731
    at(Failpoint.BRANCH_REBASE_BEFORE_CLOSE, fail)
    with pytest.raises(og.Unavailable):
        graph.branches.rebase("p")
    og.open(root).branches.create("kid", "p")


@pytest.mark.parametrize("way", ["cleanup", "backup", "restores"])
def test_a_key_is_remembered_after_a_rebase_and(root: str, way: str, tmp_path: Path) -> None:
    put(og.open(root), "a")
    og.open(root).branches.create("dev")
    first = og.open(root).mutate(INSERT, {"name": "paid"}, branch="dev", idempotency_key="k").commit_id
    put(og.open(root), "b")
    og.open(root).branches.rebase("dev")
    if way == "cleanup":
        og.open(root).cleanup()
        og.open(root).cleanup()
    elif way == "backup":
        og.open(root).backup(str(tmp_path / "backups"))
        root = str(tmp_path / "restored")
        og.restore(str(tmp_path / "backups"), root)
    else:
        for _ in range(70):
            og.open(root).branches.delete("dev")
            og.open(root).branches.restore("dev")
    again = og.open(root).mutate(INSERT, {"name": "paid"}, branch="dev", idempotency_key="k").commit_id
    assert again == first
    assert names(root, branch="dev") == ["a", "b", "paid"]


def test_damage_of_one_table_does_not_let_a_cleanup_take_another_of_the_same_commit(
    tmp_path: Path, root: str
) -> None:
    root = str(tmp_path / "two")
    graph = og.init(root, "node A { name: String @key }\nnode B { name: String @key }")
    graph.load([{"type": kind, "data": {"name": "0"}} for kind in "AB"], mode="append")
    parked, go, told = threading.Event(), threading.Event(), list[str]()

    def clean() -> None:
        try:
            og.open(root).cleanup()
        except og.OmniError as error:
            told.append(error.code)

    def wait() -> None:
        parked.set()
        assert go.wait(60)

    run = threading.Thread(target=clean)

    def held() -> None:
        pins = sorted(Path(root).glob("nodes/*/_pins/*/*.manifest"), key=lambda path: path.stat().st_mtime_ns)
        table = pins[-1].parents[2]
        newest = pins[-1] if table == pins[-1].parents[2] else pins[-2]
        data = bytearray(newest.read_bytes())
        data[len(data) // 2] ^= 1
        newest.write_bytes(data)
        at(Failpoint.CLEANUP_AFTER_LIST, wait)
        run.start()
        assert parked.wait(60)

    at(Failpoint.PUBLISH_BEFORE_RECORD, held)
    graph.load([{"type": kind, "data": {"name": "1"}} for kind in "AB"], mode="append")
    go.set()
    run.join(60)
    assert told == ["corrupt_state"]
    read = 0
    for kind in "AB":
        try:
            rows = og.open(root, read_only=True).query(
                f"query q() {{ match {{ $p: {kind} }} return {{ $p.name as name }} }}"
            )
        except og.CorruptState:
            continue
        assert len(rows.rows) == 2
        read += 1
    assert read == 1
