"""Writers, cleanups and deletes that were held up between two steps, for as long as it takes.

An adversary made each of these lose, double or bring back something, or stop everybody, once. A *hole* is the
number of a commit record that a cleanup has removed; a writer that was held up may put its own there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.branches import lifecycle
from omnigraph.graph.manifest.condemned import KEPT_LISTS, Condemned, CondemnedLists
from omnigraph.graph.manifest.refs import Refs, StoredRef
from omnigraph.graph.merge import rebase as rebasing
from support.care import at_once
from support.interleaving import DELETE, INSERT, NEW, Killed, assert_sound, at, die, names, put

PEOPLE = "node Person { name: String @key }"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    og.init(tmp_path / "graph", PEOPLE)
    yield str(tmp_path / "graph")
    failpoints._armed.clear()


def drop_what_follows(root: str) -> None:
    """Publish more, and let a cleanup remove the record right after what a held-up writer knows."""
    other = og.open(root)
    put(other, "c", "d", "e")
    assert other.cleanup(keep=1).records_removed


def lose_once(
    monkeypatch: pytest.MonkeyPatch,
    graph: og.Graph,
    method: str,
    part: str,
    meanwhile: Callable[[], object] | None = None,
) -> None:
    """Let the next request of a graph for such a path fail; it has arrived if something happens meanwhile."""
    store = graph.internals.core.truth.store
    kind = type(store)
    real = getattr(kind, method)
    lost: list[str] = []

    def lose(self: Any, path: str, *given: Any) -> Any:
        if self is not store or part not in path or lost:
            return real(self, path, *given)
        lost.append(path)
        if meanwhile is not None:
            real(self, path, *given)
            meanwhile()
        raise og.Unavailable("timed out")

    monkeypatch.setattr(kind, method, lose)


def test_a_record_in_a_hole_is_not_acknowledged_when_the_read_that_tells_fails(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "3600")
    graph = og.open(root)
    put(graph, "a", "b")

    def before() -> None:
        drop_what_follows(root)
        lose_once(monkeypatch, graph, "get", "floors")

    at(Failpoint.PUBLISH_BEFORE_RECORD, before)
    put(graph, "paid")
    assert names(root).count("paid") == 1
    assert_sound(root)


def test_a_commit_that_was_dropped_is_not_made_again_because_of_what_lies_in_its_hole(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(og.open(root), "a", "b")
    parked, go = threading.Event(), threading.Event()

    def sleep() -> None:
        parked.set()
        assert go.wait(60)
        at(Failpoint.PUBLISH_AFTER_RECORD, die)

    def write_late() -> None:
        with pytest.raises(Killed):
            put(og.open(root), "late")

    sleeper = threading.Thread(target=write_late)
    at(Failpoint.PUBLISH_BEFORE_RECORD, sleep)
    sleeper.start()
    assert parked.wait(60)
    writer = og.open(root)

    def meanwhile() -> None:
        drop_what_follows(root)
        go.set()
        sleeper.join(60)
        lose_once(monkeypatch, writer, "get", "/chains/")

    lose_once(monkeypatch, writer, "create", "/chains/", meanwhile)
    put(writer, "paid")
    assert names(root).count("paid") == 1
    assert "late" not in names(root)


def test_a_record_in_a_hole_that_another_cleanup_has_swept_was_no_commit(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")

    def before() -> None:
        drop_what_follows(root)
        at(Failpoint.PUBLISH_AFTER_RECORD, after)

    def after() -> None:
        other = og.open(root)
        put(other, "f")
        assert other.cleanup(keep=1).records_removed

    at(Failpoint.PUBLISH_BEFORE_RECORD, before)
    with pytest.raises(og.Contention):
        put(graph, "paid")
    assert "paid" not in names(root)
    assert_sound(root)


def test_a_list_that_a_frozen_cleanup_puts_in_the_place_of_an_old_one_proves_nothing(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.open(root)
    put(graph, "a", "b")
    at(Failpoint.WRITE_AFTER_ALL_TABLES, die)
    with pytest.raises(Killed):
        put(og.open(root), "never")  # so that there is something to remove
    parked, go = threading.Event(), threading.Event()
    write = CondemnedLists.write

    def held(self: CondemnedLists, condemned: Condemned) -> None:
        if threading.current_thread() is frozen:
            parked.set()
            assert go.wait(120)
        write(self, condemned)

    def clean_up() -> None:
        with pytest.raises(og.Contention):
            og.open(root).cleanup()

    frozen = threading.Thread(target=clean_up)
    monkeypatch.setattr(CondemnedLists, "write", held)

    def before() -> None:
        frozen.start()
        assert parked.wait(60)
        drop_what_follows(root)
        other = og.open(root)
        for number in range(KEPT_LISTS):
            put(other, f"x{number}")
            other.cleanup(keep=1)
        go.set()
        frozen.join(60)

    at(Failpoint.PUBLISH_BEFORE_RECORD, before)
    with pytest.raises(og.OutcomeUnknown):
        put(graph, "paid")


@pytest.mark.parametrize("cleaned", [False, True])
def test_merges_into_a_branch_from_a_tag_start_where_they_did_before_a_cleanup(
    root: str, cleaned: bool
) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("q")
    put(graph, "q1", branch="q")
    put(graph, "m0")
    graph.branches.merge("q")
    put(graph, "m1")
    graph.tags.create("v1")
    put(graph, "q2", branch="q")
    graph.branches.merge("q")
    put(graph, "m2")
    if cleaned:
        assert graph.cleanup(keep=1).commits_dropped
    graph.branches.create("x", tag="v1")
    graph.mutate(DELETE, {"name": "q1"}, branch="x")
    put(graph, "q3", branch="q")
    graph.branches.merge("q", into="x")
    assert names(root, branch="x") == ["a", "m0", "m1", "q2", "q3"]


def test_merges_into_a_restored_branch_start_where_they_did_before_a_cleanup(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("q")
    put(graph, "q1", branch="q")
    graph.branches.create("p")
    put(graph, "p0", branch="p")
    graph.branches.merge("q", into="p")
    put(graph, "p1", branch="p")
    graph.tags.create("v1", branch="p")
    graph.branches.delete("p")
    og.open(root).cleanup(keep=1)
    graph.branches.restore("p")
    graph.mutate(DELETE, {"name": "q1"}, branch="p")
    put(graph, "q3", branch="q")
    graph.branches.merge("q", into="p")
    assert names(root, branch="p") == ["a", "p0", "p1", "q3"]


def test_a_branch_that_another_is_being_rebased_onto_is_not_deleted(root: str) -> None:
    graph = og.open(root)
    for name in ("p", "dev"):
        graph.branches.create(name)
        put(graph, f"on-{name}", branch=name)

    def delete() -> None:
        with pytest.raises(og.BranchInUse):
            og.open(root).branches.delete("p")

    at(Failpoint.BRANCH_REBASE_BEFORE_CLOSE, delete)
    graph.branches.rebase("dev", "p")
    assert names(root, branch="dev") == ["on-dev", "on-p"]
    assert_sound(root)


def test_a_key_is_remembered_after_rebase_delete_cleanup_and_restore(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("dev")
    first = graph.mutate(INSERT, {"name": "paid"}, branch="dev", idempotency_key="k").commit_id
    put(graph, "b")
    graph.branches.rebase("dev")
    graph.tags.create("v1", branch="dev")
    graph.branches.delete("dev")
    og.open(root).cleanup()
    og.open(root).cleanup()
    graph.branches.restore("dev")
    assert graph.mutate(INSERT, {"name": "paid"}, branch="dev", idempotency_key="k").commit_id == first
    assert names(root, branch="dev") == ["a", "b", "paid"]


@pytest.mark.parametrize("damaged", ["record", "ref", "lost"])
def test_damage_of_a_branch_with_a_pending_plan_stops_nobody_on_main(root: str, damaged: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "d1", "d2", branch="dev")
    chain = graph.internals.core.truth.state("dev").ref.incarnation
    at(Failpoint.PLAN_AFTER_PUT, die)
    with pytest.raises(Killed):
        graph.load(NEW, mode="append", branch="dev")
    newest = max(Path(root, "__manifest/chains", chain).glob("*/*"))
    path = Path(root, "__manifest/branches/dev.json") if damaged == "ref" else newest
    data = path.read_bytes()
    if damaged == "lost":
        path.unlink()
    else:
        path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    put(og.open(root), "m")
    assert names(root) == ["m"]
    assert os.listdir(f"{root}/__recovery"), "what cannot be settled waits"
    path.write_bytes(data)
    og.open(root)
    assert names(root, branch="dev") == ["d1", "d2", "new"]


def test_a_record_that_is_put_into_a_chain_that_is_gone_stops_no_cleanup(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "x", branch="dev")

    def before() -> None:
        other = og.open(root)
        other.branches.merge("dev", delete_branch=True)
        put(other, "m")
        other.cleanup(keep=5)
        other.cleanup(keep=5)
        at(Failpoint.PUBLISH_AFTER_RECORD, die)

    at(Failpoint.PUBLISH_BEFORE_RECORD, before)
    with pytest.raises(Killed):
        put(graph, "late", branch="dev")
    assert_sound(root)
    assert names(root) == ["m", "x"]


def test_two_deletes_that_are_both_refused_leave_no_mark(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = og.open(root)
    graph.branches.create("p")
    put(graph, "x", branch="p")
    graph.branches.create("kid", "p")
    children_of, seen = lifecycle.children_of, list[str]()

    def held(truth: Any, parent: str) -> list[str]:
        if not seen:
            seen.append(parent)
            with pytest.raises(og.BranchInUse):
                og.open(root).branches.delete("p")
        return children_of(truth, parent)

    monkeypatch.setattr(lifecycle, "children_of", held)
    with pytest.raises(og.BranchInUse):
        graph.branches.delete("p")
    og.open(root).branches.create("kid2", "p")


def test_the_mark_of_a_delete_that_died_goes_with_a_cleanup(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("p")
    put(graph, "x", branch="p")
    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, die)
    with pytest.raises(Killed):
        graph.branches.delete("p")
    og.open(root).cleanup()
    og.open(root).branches.create("kid", "p")
    assert names(root, branch="kid") == ["x"]


def test_a_delete_of_a_name_that_becomes_a_branch_meanwhile_deletes_the_branch(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parked, go = threading.Event(), threading.Event()

    def hold() -> None:
        parked.set()
        assert go.wait(60)

    at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, hold)
    maker = threading.Thread(target=lambda: og.open(root).branches.create("dev"))
    maker.start()
    assert parked.wait(60)
    free = Refs.free

    def late(self: Refs, stored: StoredRef) -> bool:
        go.set()
        maker.join(60)
        return free(self, stored)

    monkeypatch.setattr(Refs, "free", late)
    og.open(root).branches.delete("dev")
    assert og.open(root).branches.list() == ["main"]


def test_what_lies_in_the_hole_of_a_parent_is_not_taken_for_it(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "3600")
    graph = og.open(root)
    put(graph, "a", "b")
    tagged: list[str] = []

    def before() -> None:
        other = og.open(root)
        tagged.append(put(other, "c", "d"))
        other.tags.create("t")
        put(other, "e", "f")
        other.cleanup(keep=1)
        at(Failpoint.PUBLISH_AFTER_RECORD, die)

    at(Failpoint.PUBLISH_BEFORE_RECORD, before)
    with pytest.raises(Killed):
        graph.mutate(DELETE, {"name": "a"})
    with pytest.raises(og.HistoricalVersionReclaimed):
        og.open(root).commits.changes(tagged[0])


def test_a_plan_whose_record_lies_in_a_hole_is_not_noted_as_published(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")

    def before() -> None:
        drop_what_follows(root)
        at(Failpoint.PUBLISH_AFTER_RECORD, die)

    at(Failpoint.PLAN_BEFORE_PUT, before)
    with pytest.raises(Killed):
        graph.load(NEW, mode="overwrite")
    put(og.open(root), "z")
    assert names(root) == ["a", "b", "c", "d", "e", "z"]
    noted = [commit.message or "" for commit in og.open(root).commits.list()]
    assert not [message for message in noted if message.startswith("RolledForward")]


def test_a_plan_that_landed_before_its_branch_was_rebased_is_noted_as_published(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "d0", branch="dev")
    put(graph, "m")
    settle = rebasing.settle_abandoned

    def late(truth: Any, settings: Any) -> int:
        settled = settle(truth, settings)
        at(Failpoint.PUBLISH_AFTER_RECORD, die)
        with pytest.raises(Killed):
            graph.load(NEW, mode="append", branch="dev")
        return settled

    with monkeypatch.context() as patched:
        patched.setattr(rebasing, "settle_abandoned", late)
        og.open(root).branches.rebase("dev")
    put(og.open(root), "z")
    assert names(root, branch="dev") == ["d0", "m", "new"]
    noted = [commit.message or "" for name in ("main", "dev") for commit in og.open(root).commits.list(name)]
    assert [message.split(":")[0] for message in noted if "load" in message][:1] == ["RolledForward"]


def test_deletes_at_once_of_a_branch_from_an_old_tag_know_what_they_did(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.tags.create("old")
    for number in range(KEPT_LISTS + 2):
        put(graph, f"x{number}")
        graph.cleanup(keep=1)
    graph.branches.create("dev", tag="old")

    def another() -> None:
        with pytest.raises(og.NotFound):
            og.open(root).branches.delete("dev")

    at(Failpoint.PUBLISH_AFTER_RECORD, another)
    graph.branches.delete("dev")
    assert graph.branches.list() == ["main"]


@pytest.mark.parametrize("end", ["delete", "rebase"])
def test_a_write_whose_branch_was_ended_and_cleaned_up_meanwhile_hears_that_it_is_gone(
    root: str, end: str
) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "x", branch="dev")
    put(graph, "m")

    def others() -> None:
        other = og.open(root)
        getattr(other.branches, end)("dev")
        other.cleanup(keep=1)
        other.cleanup(keep=1)

    at(Failpoint.WRITE_AFTER_STAGE, others)
    with pytest.raises(og.BranchGone):
        graph.mutate(DELETE, {"name": "x"}, branch="dev")


def test_a_branch_that_was_rebased_before_its_maker_heard_of_it_was_made(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.open(root)
    kind = type(graph.internals.core.truth.store)
    replace, store, sent = kind.replace, graph.internals.core.truth.store, list[bytes]()

    def send_twice(self: Any, path: str, data: bytes, etag: str) -> str:
        if self is not store or not path.endswith("/dev.json") or sent:
            return replace(self, path, data, etag)
        sent.append(data)
        replace(self, path, data, etag)
        put(og.open(root), "m")
        og.open(root).branches.rebase("dev")
        raise og.PreconditionFailed("sent again")

    monkeypatch.setattr(kind, "replace", send_twice)
    graph.branches.create("dev")
    assert names(root, branch="dev") == ["m"]
