"""Races that lie between the failpoints: somebody acts while another one is held at an exact place.

Each of these has lost data once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.maintenance.cleanup import cleanup as sweeping
from omnigraph.graph.maintenance.cleanup import survey
from support.care import at_once
from support.interleaving import INSERT, NEW, Killed, assert_sound, at, die, names, put

PEOPLE = "node Person { name: String @key }"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    og.init(tmp_path / "graph", PEOPLE)
    yield str(tmp_path / "graph")
    failpoints._armed.clear()


class _Held:
    """A cleanup in a thread of its own that waits at a point until it is let go."""

    def __init__(self, root: str, point: Failpoint, **limits: Any) -> None:
        self._parked, self._go = threading.Event(), threading.Event()
        at(point, self._wait)
        self._thread = threading.Thread(target=lambda: og.open(root).cleanup(**limits))

    def _wait(self) -> None:
        self._parked.set()
        assert self._go.wait(60)

    def start(self) -> None:
        self._thread.start()
        assert self._parked.wait(60)

    def finish(self) -> None:
        self._go.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_a_writer_that_was_held_up_after_its_record_deletes_nothing_that_is_kept(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")

    def others() -> None:
        other = og.open(root)
        other.tags.create("v1")
        put(other, "d", "e", "f", "g")
        other.cleanup(keep=1)

    at(Failpoint.PUBLISH_AFTER_RECORD, others)
    landed = put(graph, "c")
    assert og.open(root).snapshot(tag="v1").commit_id == landed
    assert names(root, snapshot="v1") == ["a", "b", "c"]
    assert names(root) == ["a", "b", "c", "d", "e", "f", "g"]
    assert_sound(root)


def test_a_floor_never_goes_back_when_two_cleanups_meet(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "a", "b", "c")
    main, read_floor = graph.internals.core.truth.stamp.main, survey.read_floor
    waiting = [main]

    def held_up(store: Any, incarnation: str) -> Any:
        if incarnation in waiting:
            waiting.clear()
            other = og.open(root)
            put(other, "d")
            other.cleanup(keep=1)
        return read_floor(store, incarnation)

    monkeypatch.setattr(survey, "read_floor", held_up)
    with pytest.raises(og.Contention, match="another cleanup"):
        og.open(root).cleanup(keep=1)
    assert not waiting
    (Path(root) / f"__manifest/hints/{main}.json").unlink()
    assert names(root) == ["a", "b", "c", "d"]
    assert_sound(root)


def test_what_was_published_on_a_branch_that_ended_before_the_last_look_is_kept(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "x", branch="dev")
    put(graph, "m")
    cleanup = _Held(root, Failpoint.CLEANUP_AFTER_LIST)
    at(Failpoint.PUBLISH_BEFORE_RECORD, cleanup.start)
    late = put(graph, "late", branch="dev")
    assert og.open(root).branches.merge("dev", delete_branch=True).branch_deleted
    cleanup.finish()
    assert names(root) == ["late", "m", "x"]
    assert late in {commit.id for commit in og.open(root).commits.list()}
    assert names(root, snapshot=og.open(root).snapshot(commit=late)) == ["late", "x"]
    assert_sound(root)


def test_a_branch_that_is_restored_while_it_is_rebased_is_not_lost(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("dev")
    put(graph, "mine", branch="dev")
    put(graph, "b")
    cleanup = _Held(root, Failpoint.CLEANUP_AFTER_FLOORS, keep=1)

    def others() -> None:
        other = og.open(root)
        other.branches.restore("dev")
        put(other, "c")
        cleanup.start()

    at(Failpoint.BRANCH_REBASE_BEFORE_CLOSE, lambda: at(Failpoint.PUBLISH_BEFORE_RECORD, others))
    graph.branches.rebase("dev")
    cleanup.finish()
    assert names(root, branch="dev") == ["a", "b", "c", "mine"]
    assert_sound(root)


def test_a_delete_that_is_called_off_does_not_end_the_branch_of_a_child(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "mine", branch="dev")

    def others() -> None:
        other = og.open(root)
        other.branches.restore("dev")
        other.branches.create("child", "dev")

    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, others)
    with pytest.raises(og.BranchInUse):
        graph.branches.delete("dev")
    assert og.open(root).branches.list() == ["main", "child", "dev"]
    assert names(root, branch="dev") == names(root, branch="child") == ["mine"]
    og.open(root).branches.create("another", "dev")
    assert_sound(root)


def test_a_merge_deletes_only_what_it_has_merged(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "x", branch="dev")
    at(Failpoint.MERGE_AFTER_CHECKS, lambda: put(og.open(root), "late", branch="dev"))
    merged = graph.branches.merge("dev", delete_branch=True)
    assert not merged.branch_deleted
    assert "has changed since" in (merged.branch_delete_error or "")
    assert (names(root), names(root, branch="dev")) == (["x"], ["late", "x"])


def test_a_repeated_merge_does_not_delete_another_branch_of_the_name(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "x", branch="dev")
    first = graph.branches.merge("dev", delete_branch=True, idempotency_key="k")
    graph.branches.create("dev")
    put(graph, "other", branch="dev")
    again = graph.branches.merge("dev", delete_branch=True, idempotency_key="k")
    assert (again.commit_id, again.branch_deleted) == (first.commit_id, False)
    assert names(root, branch="dev") == ["other", "x"]


@pytest.mark.parametrize("change", ["rebase", "restore"])
def test_a_key_is_remembered_when_its_branch_goes_on_elsewhere(root: str, change: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    first = graph.mutate(INSERT, {"name": "x"}, branch="dev", idempotency_key="k")
    put(graph, "m")
    if change == "rebase":
        graph.branches.rebase("dev")
    else:
        graph.branches.delete("dev")
        graph.branches.restore("dev")
    again = og.open(root).mutate(INSERT, {"name": "x"}, branch="dev", idempotency_key="k")
    assert again.commit_id == first.commit_id


def test_a_drop_for_good_ends_no_deleted_branch(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE + "\nnode Junk { x: String? }")
    graph.branches.create("dev")
    put(graph, "precious", branch="dev")
    graph.branches.delete("dev")
    graph.schema.apply(PEOPLE, allow_data_loss=True)
    with pytest.raises(og.HistoricalVersionReclaimed, match="dropped for good"):
        graph.branches.create("old", version=1)
    og.open(tmp_path / "graph").branches.restore("dev")
    assert names(str(tmp_path / "graph"), branch="dev") == ["precious"]


@pytest.mark.parametrize("point", [Failpoint.BRANCH_CREATE_BEFORE_REF, Failpoint.BRANCH_CREATE_BEFORE_CHECK])
def test_a_branch_whose_first_commit_lost_files_before_it_had_a_name_stops_nobody(
    root: str, point: Failpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.open(root)
    put(graph, "a", "b")
    sweep, started, go = sweeping.sweep, threading.Event(), threading.Event()

    def sweep_late(*args: Any) -> Any:
        started.set()
        assert go.wait(60)
        return sweep(*args)

    # Its last look is over when the first commit is put, and its list is older.
    run = threading.Thread(target=lambda: og.open(root).cleanup(keep=1))

    def begin() -> None:
        monkeypatch.setattr(sweeping, "sweep", sweep_late)
        run.start()
        assert started.wait(60)

    def die() -> None:
        go.set()
        run.join(60)
        monkeypatch.setattr(sweeping, "sweep", sweep)
        raise failpoints.InjectedFault(point.value)

    at(Failpoint.WRITE_AFTER_ALL_TABLES, begin)
    at(point, die)
    with pytest.raises(failpoints.InjectedFault):
        graph.load(NEW, mode="append", branch="dev", from_branch="main")
    assert og.open(root).branches.list() == ["main"]
    with pytest.raises(og.NotFound):
        og.open(root).snapshot("dev")
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "3600")
    put(graph, "c", "d")
    og.open(root).cleanup(keep=1)
    assert {finding.severity for finding in og.open(root).repair().findings} == {"leftover"}
    again = og.open(root)
    again.branches.create("dev")
    assert names(root, branch="dev") == ["a", "b", "c", "d"]
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    assert_sound(root)


def test_a_branch_in_the_making_is_freed_by_a_cleanup_after_the_grace_period_and_its_maker_loses(
    root: str,
) -> None:
    graph = og.open(root)
    put(graph, "a")
    at(Failpoint.BRANCH_CREATE_BEFORE_CHECK, lambda: og.open(root).cleanup())
    with pytest.raises(og.OmniError) as caught:
        graph.load(NEW, mode="append", branch="dev", from_branch="main")
    assert caught.value.code in ("already_exists", "contention")
    assert og.open(root).branches.list() == ["main"]
    assert_sound(root)


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("end", ["delete", "rebase"])
def test_who_ends_a_branch_knows_it_though_another_put_its_name_right_first(
    root: str, end: str, cleaned: bool
) -> None:
    graph = og.open(root)
    graph.branches.create("c")
    put(graph, "on-c", branch="c")
    put(graph, "on-main")

    def another() -> None:
        other = og.open(root)
        if end == "delete":
            with pytest.raises(og.NotFound):
                other.branches.delete("c")
        else:
            with pytest.raises(og.AlreadyExists):
                other.branches.create("c")
        if cleaned:
            other.cleanup(keep=1)

    if end == "delete":
        at(Failpoint.PUBLISH_AFTER_RECORD, another)
        graph.branches.delete("c")
        assert graph.branches.list() == ["main"]
    else:
        at(Failpoint.BRANCH_REBASE_BEFORE_CLOSE, lambda: at(Failpoint.PUBLISH_AFTER_RECORD, another))
        graph.branches.rebase("c")
        assert names(root, branch="c") == ["on-c", "on-main"]
        assert graph.branches.list() == ["main", "c"]
    assert_sound(root)


@pytest.mark.parametrize(
    "point",
    [Failpoint.CLEANUP_AFTER_LIST, Failpoint.CLEANUP_BEFORE_RECORDS],
)
def test_a_schema_that_a_failed_apply_has_left_may_be_applied_while_a_cleanup_removes_it(
    root: str, point: Failpoint
) -> None:
    newer = f"{PEOPLE}\nnode Place {{ name: String @key }}"
    put(og.open(root), "a")
    at(Failpoint.PLAN_BEFORE_PUT, die)
    with pytest.raises(Killed):
        og.open(root).schema.apply(newer)
    put(og.open(root), "b", "c")
    cleaner = _Held(root, point, keep=1)
    cleaner.start()
    assert og.open(root).schema.apply(newer).applied
    cleaner.finish()
    assert names(root) == ["a", "b", "c"]
    assert "node Place" in og.open(root).schema.source
    assert_sound(root)


def test_a_merge_whose_source_goes_beside_a_cleanup_sees_no_conflict_with_an_older_commit(
    tmp_path: Path,
) -> None:
    """What both began from is dropped; compared with an older commit, both would have changed a."""
    root = str(tmp_path / "graph")
    graph = og.init(root, "node Person { name: String @key  age: I32? }")
    age = 'query q($age: I32) { update Person set { age: $age } where name = "a" }'
    put(graph, "a")
    graph.tags.create("old")
    graph.mutate(age, {"age": 2})
    graph.branches.create("work")
    put(graph, "b", branch="work")
    graph.mutate(age, {"age": 3})
    cleanup = _Held(root, Failpoint.CLEANUP_AFTER_FLOORS, keep=1)

    def others() -> None:
        og.open(root).branches.delete("work")
        cleanup.start()

    at(Failpoint.MERGE_AFTER_CAPTURE, others)
    with pytest.raises(og.Contention):
        graph.branches.merge("work")
    cleanup.finish()
    assert names(root) == ["a"]
    assert_sound(root)
