"""A rename beside other renames, cleanups, backups and recovery, and cut off: the branch stands, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint, InjectedFault
from omnigraph.base.settings import Settings
from omnigraph.graph.backup import view
from omnigraph.graph.branches.rename import rename_branch
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.opening import open_graph
from omnigraph.graph.recovery.plans import list_plans
from omnigraph.storage.objects import open_store
from support.care import at_once
from support.interleaving import Killed, assert_sound, at, die, names, put

PEOPLE = "node Person { name: String @key }"
WAIT_SECONDS = 20


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    graph = og.init(tmp_path / "graph", PEOPLE)
    graph.branches.create("old")
    put(graph, "a", branch="old")
    yield graph.uri
    failpoints._armed.clear()


def _rename(root: str, old: str = "old", new: str = "new") -> None:
    og.open(root).branches.rename(old, new)


def _holds(root: str) -> list[str]:
    return [tag.name for tag in og.open(root).internals.core.truth.tags.list()]


def _cut_off(root: str, point: str, old: str = "old", new: str = "new") -> None:
    at(Failpoint(point), die)
    with pytest.raises(Killed):
        _rename(root, old, new)


def _clean(root: str) -> None:
    og.open(root).cleanup(keep=1)


def test_the_same_rename_twice_beside_a_cleanup_loses_nothing(root: str) -> None:
    deleted, go_on, errors = threading.Event(), threading.Event(), []

    def wait() -> None:
        deleted.set()
        assert go_on.wait(WAIT_SECONDS)

    def first() -> None:
        at(Failpoint.BRANCH_RENAME_AFTER_DELETE, wait)
        try:
            _rename(root)
        except og.OmniError as error:
            errors.append(error)

    thread = threading.Thread(target=first)

    def overtake() -> None:
        thread.start()
        assert deleted.wait(WAIT_SECONDS)

    at(Failpoint.BRANCH_RENAME_AFTER_HOLD, overtake)
    try:
        _rename(root)
    except og.OmniError as error:
        errors.append(error)
    _clean(root)
    go_on.set()
    thread.join()
    assert og.open(root).branches.list() == ["main", "new"], errors
    assert names(root, branch="new") == ["a"]
    assert _holds(root) == []
    assert_sound(root)


def test_who_finds_his_rename_finished_by_another_does_not_bring_the_old_name_back(root: str) -> None:
    at(Failpoint.BRANCH_RENAME_AFTER_DELETE, lambda: _rename(root))
    _rename(root)
    assert og.open(root).branches.list() == ["main", "new"]
    assert names(root, branch="new") == ["a"]
    assert _holds(root) == []


def test_of_two_renames_to_different_names_one_happens(root: str) -> None:
    at(Failpoint.BRANCH_RENAME_AFTER_HOLD, lambda: _rename(root, "old", "other"))
    with pytest.raises(og.NotFound):
        _rename(root)
    assert og.open(root).branches.list() == ["main", "other"]
    assert _holds(root) == []


def test_a_branch_that_is_deleted_while_it_is_renamed_stays_deleted(root: str) -> None:
    at(Failpoint.BRANCH_RENAME_AFTER_HOLD, lambda: og.open(root).branches.delete("old"))
    with pytest.raises(og.NotFound):
        _rename(root)
    assert og.open(root).branches.list() == ["main"]
    assert _holds(root) == []


def test_a_rename_whose_delete_had_no_answer_loses_nothing(root: str) -> None:
    def fail(*given: object) -> None:
        raise og.Unavailable("the storage does not answer", retryable=True)

    at(Failpoint.BRANCH_DELETE_AFTER_CLOSE, fail)
    with pytest.MonkeyPatch.context() as patched, pytest.raises(og.Unavailable):
        patched.setattr(Truth, "newest_of", fail)
        _rename(root)
    _clean(root)
    _rename(root)
    assert og.open(root).branches.list() == ["main", "new"]
    assert names(root, branch="new") == ["a"]
    assert _holds(root) == []


def test_a_name_that_was_taken_meanwhile_gives_the_branch_its_own_back(root: str) -> None:
    def take() -> None:
        graph = og.open(root)
        graph.branches.create("new")
        graph.branches.create("old")
        graph.branches.delete("old")  # what stood under the name last is not what was renamed

    at(Failpoint.BRANCH_RENAME_AFTER_DELETE, take)
    with pytest.raises(og.AlreadyExists):
        _rename(root)
    assert names(root, branch="old") == ["a"]
    assert names(root, branch="new") == []
    assert _holds(root) == []


def test_renames_of_names_with_slashes_are_told_apart(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("a/b")
    put(graph, "b", branch="a/b")
    _cut_off(root, "branch.rename.after_delete", "a/b", "c")
    with pytest.raises(og.NotFound):
        _rename(root, "a", "b/c")
    graph.branches.create("a")
    _rename(root, "a", "b/c")
    _clean(root)
    _rename(root, "a/b", "c")
    assert names(root, branch="c") == ["b"]
    assert names(root, branch="b/c") == []


def test_repair_tells_of_a_branch_that_a_rename_has_left_without_a_name(root: str) -> None:
    _cut_off(root, "branch.rename.after_delete")
    (told,) = (item for item in og.open(root).repair().findings if item.code == "rename_unfinished")
    assert "'old'" in told.what
    assert "'new'" in told.what
    og.open(root).branches.restore("old")
    assert "rename_unfinished" not in {item.code for item in og.open(root).repair().findings}
    og.open(root).cleanup()
    assert _holds(root) == []


def test_long_names_can_be_given(root: str) -> None:
    long = "n" * 200
    _rename(root, "old", long)
    _rename(root, long, "m" * 200)
    assert names(root, branch="m" * 200) == ["a"]


def test_a_rename_that_was_cut_off_after_its_last_step_is_finished_by_the_same_call(root: str) -> None:
    _cut_off(root, "branch.create.after_ref")
    _rename(root)
    assert og.open(root).branches.list() == ["main", "new"]
    assert _holds(root) == []


def test_cleanup_lets_go_of_what_a_rename_held_that_was_cut_off_after_its_last_step(root: str) -> None:
    _cut_off(root, "branch.create.after_ref")
    assert _holds(root) != []
    og.open(root).cleanup()
    assert _holds(root) == []
    assert names(root, branch="new") == ["a"]


def test_an_empty_branch_that_a_rename_has_left_without_a_name_is_brought_back(root: str) -> None:
    og.open(root).branches.create("empty")
    _cut_off(root, "branch.rename.after_delete", "empty", "full")
    _clean(root)
    _rename(root, "empty", "full")
    assert "full" in og.open(root).branches.list()
    assert _holds(root) == []


def test_a_backup_of_a_graph_has_a_branch_that_is_being_renamed(root: str, tmp_path: Path) -> None:
    at(Failpoint.BRANCH_RENAME_AFTER_DELETE, lambda: og.open(root).backup(tmp_path / "backups"))
    _rename(root)
    restored = og.restore(tmp_path / "backups", tmp_path / "restored")
    _rename(restored.uri)
    assert names(restored.uri, branch="new") == ["a"]


def test_a_backup_of_a_graph_has_a_branch_that_is_renamed_while_it_looks(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look: Callable[[Truth, BranchRef], BranchState | None] = view._state
    renamed: list[str] = []

    def look_late(truth: Truth, ref: BranchRef) -> BranchState | None:
        if ref.name == "old" and not renamed:
            renamed.append("new")
            _rename(root)
        return look(truth, ref)

    monkeypatch.setattr(view, "_state", look_late)
    og.open(root).backup(tmp_path / "backups")
    assert renamed
    restored = og.restore(tmp_path / "backups", tmp_path / "restored")
    assert names(restored.uri, branch="new") == ["a"]


def test_recovery_does_not_call_a_commit_discarded_that_was_renamed_with_its_branch(root: str) -> None:
    people = [{"type": "Person", "data": {"name": "b"}}]
    with (
        failpoints.arm_temporarily(Failpoint.PUBLISH_AFTER_RECORD, "raise"),
        pytest.raises(InjectedFault),
    ):
        og.open(root).load(people, branch="old", mode="append")
    # Opened to read only, so that nothing is settled before the rename.
    core = open_graph(open_store(root), Settings.from_environment(), read_only=True)
    rename_branch(core.truth, "old", "new", None)
    graph = og.open(root)
    found = {
        commit.id: note["kind"]
        for branch in graph.branches.list()
        for commit in graph.commits.list(branch)
        for note in commit.recovery
    }
    assert list(found.values()) == ["RolledForward"]
    assert names(root, branch="new") == ["a", "b"]
    assert list_plans(core.truth.store) == []


def test_a_failure_before_the_branch_is_deleted_leaves_no_hold(root: str) -> None:
    og.open(root).branches.create("child", "old")
    with pytest.raises(og.BranchInUse):
        _rename(root)
    assert _holds(root) == []


def test_a_fault_anywhere_is_mended_by_the_same_call(root: str) -> None:
    for point in (
        "branch.rename.after_hold",
        "branch.delete.before_close",
        "branch.delete.after_close",
        "branch.delete.after_ref",
        "branch.rename.after_delete",
        "branch.create.before_ref",
        "branch.create.before_check",
        "branch.create.after_ref",
    ):
        with failpoints.arm_temporarily(point, "raise"), pytest.raises(InjectedFault):
            _rename(root)
        _rename(root)
        _rename(root, "new", "old")
    assert names(root, branch="old") == ["a"]
    assert _holds(root) == []


def test_who_deletes_a_branch_while_another_renames_it_is_believed(root: str) -> None:
    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, lambda: og.open(root).branches.delete("old"))
    with pytest.raises(og.NotFound):
        _rename(root)
    assert og.open(root).branches.list() == ["main"]
    assert _holds(root) == []


def test_of_two_renames_that_end_the_branch_at_once_one_happens(root: str) -> None:
    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, lambda: _rename(root, "old", "other"))
    with pytest.raises(og.NotFound):
        _rename(root)
    assert og.open(root).branches.list() == ["main", "other"]
    assert _holds(root) == []


@pytest.mark.parametrize("point", ["branch.rename.after_hold", "branch.delete.before_close"])
def test_a_rename_that_was_cut_off_before_its_first_step_keeps_no_commits(root: str, point: str) -> None:
    _cut_off(root, point)
    for name in ("b", "c"):
        put(og.open(root), name, branch="old")
    og.open(root).cleanup(keep=1)
    assert _holds(root) == []
    og.open(root).cleanup(keep=1)
    found = [commit.operation for commit in og.open(root).commits.list("old")]
    assert found.count("mutation") == 1
    assert_sound(root)


def test_what_was_deleted_after_a_rename_of_it_was_cut_off_is_kept_no_longer_than_others(root: str) -> None:
    _cut_off(root, "branch.rename.after_hold")
    og.open(root).branches.delete("old")
    og.open(root).cleanup(keep=1)
    assert _holds(root) == []


def test_a_cleanup_lets_go_of_what_a_rename_holds_and_it_goes_on(root: str) -> None:
    """It was held up before its first step, and taken for cut off."""

    def clean() -> None:
        put(og.open(root), "b", branch="old")
        og.open(root).cleanup(keep=1)
        assert _holds(root) == []

    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, clean)
    at(Failpoint.BRANCH_DELETE_AFTER_CLOSE, lambda: _clean(root))
    _rename(root)
    assert names(root, branch="new") == ["a", "b"]
    assert _holds(root) == []
    assert_sound(root)


def test_a_cleanup_lets_go_of_what_a_rename_holds_that_finds_nothing_new(root: str) -> None:
    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, lambda: _clean(root))
    at(Failpoint.BRANCH_DELETE_AFTER_CLOSE, lambda: _clean(root))
    _rename(root)
    assert names(root, branch="new") == ["a"]
    assert _holds(root) == []
    assert_sound(root)


def test_the_same_rename_after_two_that_were_cut_off_brings_back_all_that_the_branch_had(root: str) -> None:
    _cut_off(root, "branch.rename.after_hold")
    put(og.open(root), "b", branch="old")
    _cut_off(root, "branch.rename.after_delete")
    _clean(root)
    _clean(root)
    _rename(root)
    assert names(root, branch="new") == ["a", "b"]
    assert _holds(root) == []
    assert_sound(root)


def test_the_same_rename_by_another_who_has_seen_more_keeps_that(root: str) -> None:
    """This one holds an older commit when the other ends the branch."""

    def overtake() -> None:
        put(og.open(root), "b", branch="old")
        _cut_off(root, "branch.rename.after_delete")

    at(Failpoint.BRANCH_RENAME_AFTER_HOLD, overtake)
    with pytest.raises(og.NotFound):
        _rename(root)
    _clean(root)
    _rename(root)
    assert names(root, branch="new") == ["a", "b"]
    assert _holds(root) == []
    assert_sound(root)


def test_an_empty_branch_whose_last_record_a_cleanup_takes_at_once_gets_its_name(root: str) -> None:
    og.open(root).branches.create("empty")
    at(Failpoint.BRANCH_DELETE_AFTER_REF, lambda: _clean(root))
    _rename(root, "empty", "full")
    assert "full" in og.open(root).branches.list()
    assert _holds(root) == []


def test_who_finds_his_rename_finished_and_the_branch_gone_on_makes_no_second_one(root: str) -> None:
    def finish() -> None:
        _rename(root)
        og.open(root).branches.rebase("new")
        _rename(root, "new", "old")

    at(Failpoint.BRANCH_RENAME_AFTER_DELETE, finish)
    _rename(root)
    assert og.open(root).branches.list() == ["main", "old"]
    assert names(root, branch="old") == ["a"]
