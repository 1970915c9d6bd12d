"""What is the same before and after a cleanup, a rebase, a drop for good: merges, keys, batches, branches.

A second adversary showed that each of these was not, most of them without any race.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.run import run_load
from omnigraph.graph.maintenance.cleanup import dropping
from omnigraph.graph.maintenance.verify import repair as repairing
from omnigraph.graph.manifest.condemned import KEPT_LISTS
from support.care import at_once
from support.interleaving import DELETE, INSERT, NEW, Killed, assert_sound, at, die, names, put

PEOPLE = "node Person { name: String @key }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } }"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    og.init(tmp_path / "graph", PEOPLE)
    yield str(tmp_path / "graph")
    failpoints._armed.clear()


def _delete(graph: og.Graph, name: str, branch: str) -> None:
    graph.mutate(DELETE, {"name": name}, branch=branch)


def _age(graph: og.Graph) -> None:
    """Let more cleanups come than lists are kept of."""
    for number in range(KEPT_LISTS + 2):
        put(graph, f"x{number}")
        graph.cleanup(keep=1)


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("end", ["delete", "rebase"])
def test_two_branches_merge_from_what_a_third_that_ended_had_brought_to_both(
    root: str, end: str, cleaned: bool
) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("x")
    graph.branches.create("p")
    put(graph, "p1", branch="p")
    put(graph, "x1", branch="x")
    put(graph, "m1")
    graph.branches.merge("p")
    graph.branches.merge("p", into="x")
    put(graph, "m2")
    getattr(graph.branches, end)("p")
    if cleaned:
        assert graph.cleanup(keep=1).commits_dropped
    _delete(graph, "p1", "x")
    graph.branches.merge("x")
    assert names(root) == ["a", "m1", "m2", "x1"]


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("end", ["delete", "rebase"])
def test_a_merge_starts_from_what_a_branch_that_ended_had_begun_from(
    root: str, end: str, cleaned: bool
) -> None:
    """It came into the other branch with the one that ended: a fix that was merged into two releases."""
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("release")
    put(graph, "x")
    graph.branches.create("fix")
    put(graph, "f1", branch="fix")
    put(graph, "r1", branch="release")
    graph.branches.merge("fix", into="release")
    put(graph, "m1")
    getattr(graph.branches, end)("fix")
    put(graph, "m2")
    put(graph, "r2", branch="release")
    if cleaned:
        assert graph.cleanup(keep=1).commits_dropped
        assert graph.cleanup(keep=1) is not None  # the second finds the chain gone
    _delete(graph, "x", "release")
    graph.branches.merge("release")
    assert names(root) == ["a", "f1", "m1", "m2", "r1", "r2"]


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("way", ["restore", "tag", "commit"])
def test_a_branch_that_goes_on_from_an_ended_one_merges_from_what_that_had_merged(
    root: str, way: str, cleaned: bool
) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("p")
    put(graph, "m0")
    put(graph, "p1", branch="p")
    graph.branches.merge("p")
    last = put(graph, "p2", branch="p")
    graph.tags.create("last", last)
    graph.branches.delete("p")
    if way == "restore":
        graph.branches.restore("p")
    else:
        graph.branches.create("p", **{way: last if way == "commit" else "last"})
    put(graph, "p4", branch="p")
    put(graph, "m1", "m2")
    if cleaned:
        assert graph.cleanup(keep=1).commits_dropped
    _delete(graph, "p1", "main")
    graph.branches.merge("p")
    assert names(root) == ["a", "m0", "m1", "m2", "p2", "p4"]


@pytest.mark.parametrize("cleaned", [False, True])
def test_of_several_commits_to_merge_from_the_same_is_chosen(root: str, cleaned: bool) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.branches.create("p")
    put(graph, "p1", branch="p")
    put(graph, "m1")
    graph.branches.create("q")
    put(graph, "k1", "k2", "k3")
    graph.branches.create("pp", "p")
    graph.branches.merge("p")
    graph.branches.merge("q", into="p")
    put(graph, "m9")
    put(graph, "p9", branch="p")
    if cleaned:
        assert graph.cleanup(keep=1).commits_dropped
    _delete(graph, "p1", "p")
    graph.branches.merge("p")
    assert names(root) == ["a", "k1", "k2", "k3", "m1", "m9", "p9"]


def test_a_tag_of_a_commit_that_was_kept_for_merges_alone_stays_when_a_cleanup_would_drop_it(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.open(root)
    merged = _merge_from_two(graph)
    graph.cleanup(keep=1)
    graph.branches.delete("r")
    put(graph, "z1", "z2")
    proposed = dropping.Dropping._put

    def tag_first(self: dropping.Dropping) -> bool:
        monkeypatch.setattr(dropping.Dropping, "_put", proposed)
        og.open(root).tags.create("late", merged)
        return proposed(self)

    monkeypatch.setattr(dropping.Dropping, "_put", tag_first)
    og.open(root).cleanup(keep=1)
    assert [tag.name for tag in og.open(root).tags.list()] == ["late"]
    assert "q1" in [row["name"] for row in og.open(root).snapshot(tag="late").query(NAMES).rows]


@pytest.mark.parametrize("dropped", ["type", "property"])
def test_a_deleted_branch_can_be_restored_and_merged_after_a_drop_for_good(
    tmp_path: Path, dropped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    thing = "node Thing { name: String @key  note: String? }"
    graph = og.init(tmp_path / "graph", f"{PEOPLE}\n{thing}")
    insert = 'query q($n: String) { insert Thing { name: $n  note: "x" } }'
    graph.mutate(insert, {"n": "t1"})
    graph.branches.create("b")
    graph.mutate(insert, {"n": "b1"}, branch="b")
    graph.mutate(insert, {"n": "t3"})
    graph.branches.delete("b")
    left = PEOPLE if dropped == "type" else f"{PEOPLE}\nnode Thing {{ name: String @key }}"
    graph.schema.apply(left, allow_data_loss=True)
    graph.branches.restore("b")
    found = og.open(graph.uri).query(
        "query q() { match { $t: Thing } return { $t.name as name } }", branch="b"
    )
    assert sorted(row["name"] for row in found.rows) == ["b1", "t1"]
    assert og.open(graph.uri).repair(scrub=True).ok
    if dropped == "property":
        graph.branches.merge("b")
        assert graph.snapshot().table("node:Thing").count() == 3


def test_a_branch_that_was_deleted_within_the_period_can_be_restored_after_a_cleanup(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("work")
    put(graph, "w1", "w2", branch="work")
    graph.branches.delete("work")
    graph.cleanup(keep=1, older_than="1h")
    graph.branches.restore("work")
    assert names(root, branch="work") == ["w1", "w2"]
    graph.branches.delete("work")
    graph.cleanup(keep=1, older_than="0s")
    with pytest.raises(og.HistoricalVersionReclaimed):
        graph.branches.restore("work")


def test_a_branch_that_was_merged_into_one_other_is_not_kept_for_merges(root: str) -> None:
    graph = og.open(root)
    for number in range(4):
        graph.branches.create("feature")
        put(graph, f"f{number}", branch="feature")
        put(graph, f"m{number}")
        graph.branches.merge("feature", delete_branch=True)
    put(graph, "last")
    graph.cleanup(keep=1)
    assert len([commit for commit in graph.commits.list() if not commit.maintenance]) == 1


def _merge_from_two(graph: og.Graph) -> str:
    """Let main merge r between two merges of q; return the merge of r."""
    put(graph, "a")
    for name in ("q", "r"):
        graph.branches.create(name)
        put(graph, f"{name}1", branch=name)
    put(graph, "m0")
    graph.branches.merge("q")
    put(graph, "m1")
    put(graph, "r2", branch="r")
    put(graph, "q2", branch="q")
    merged = graph.branches.merge("r").commit_id
    assert merged is not None
    graph.branches.merge("q")
    return merged


@pytest.mark.parametrize("way", ["commit", "tag"])
def test_no_branch_begins_from_a_commit_that_was_kept_for_merges_alone(root: str, way: str) -> None:
    graph = og.open(root)
    merged = _merge_from_two(graph)
    graph.cleanup(keep=1)
    if way == "tag":
        graph.tags.create("late", merged)
        graph.cleanup(keep=1)
    with pytest.raises(og.HistoricalVersionReclaimed, match="for merges only"):
        graph.branches.create("x", **{way: merged if way == "commit" else "late"})
    assert_sound(root)


def test_a_commit_that_a_branch_keeps_within_the_limits_can_be_begun_from(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    kept = put(graph, "b")
    put(graph, "c")
    graph.branches.create("dev")
    put(graph, "d1", branch="dev")
    put(graph, *(f"m{number}" for number in range(6)))
    graph.cleanup(keep=4)
    assert kept in [commit.id for commit in graph.commits.list("dev")]
    graph.branches.create("x", commit=kept)
    assert names(root, branch="x") == ["a", "b"]


@pytest.mark.parametrize("way", ["merge", "cherry-pick"])
def test_a_batch_of_a_stream_is_remembered_when_its_branch_is_rebased(tmp_path: Path, way: str) -> None:
    graph = og.init(tmp_path / "graph", "node Log { text: String }")
    graph.branches.create("dev")
    record = [{"type": "Log", "data": {"text": "pay"}}]

    def send(branch: str, **batch: Any) -> Any:
        request = LoadRequest(source=record, mode="append", branch=branch, **batch)
        return run_load(og.open(tmp_path / "graph"), request, None)

    landed = send("dev", streams={"app": 1})
    if way == "merge":
        graph.branches.merge("dev")
    else:
        graph.commits.cherry_pick(landed.commit_id)
    send("main")
    graph.branches.rebase("dev")
    with pytest.raises(og.OmniError) as told:
        send("dev", streams={"app": 1})
    assert type(told.value).__name__ == "BatchLanded"


def test_a_delete_that_does_not_know_its_outcome_spares_the_next_branch_of_the_name(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.tags.create("old")
    _age(graph)
    graph.branches.create("dev", tag="old")
    put(graph, "junk", branch="dev")

    def another() -> None:
        other = og.open(root)
        with suppress(og.NotFound):
            other.branches.delete("dev")
        other.branches.create("dev")
        put(other, "precious", branch="dev")

    at(Failpoint.PUBLISH_AFTER_RECORD, another)
    graph.branches.delete("dev")
    assert "precious" in names(root, branch="dev")


@pytest.mark.parametrize(
    "work",
    [
        lambda graph: graph.branches.merge("main", into="old"),
        lambda graph: graph.load(NEW, mode="append", branch="new", from_branch="old"),
        lambda graph: graph.branches.rebase("other", "old"),
    ],
    ids=["merge", "load", "rebase"],
)
def test_a_branch_from_a_tag_of_long_ago_can_be_worked_with(
    root: str, work: Callable[[og.Graph], Any]
) -> None:
    graph = og.open(root)
    put(graph, "a")
    graph.tags.create("v1")
    _age(graph)
    graph.branches.create("old", tag="v1")
    put(graph, "o1", branch="old")
    graph.branches.create("other")
    put(graph, "p1", branch="other")
    work(graph)
    assert_sound(root)


def test_a_key_is_remembered_from_its_landing_on(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_IDEMPOTENCY_SECONDS", "3")
    at(Failpoint.PUBLISH_BEFORE_RECORD, die)
    with pytest.raises(Killed):
        og.open(root).mutate(INSERT, {"name": "paid"}, idempotency_key="k")
    time.sleep(2.5)
    first = og.open(root).mutate(INSERT, {"name": "paid"}, idempotency_key="k").commit_id
    time.sleep(0.8)
    put(og.open(root), "later")
    og.open(root).cleanup(keep=1)
    assert og.open(root).mutate(INSERT, {"name": "paid"}, idempotency_key="k").commit_id == first


@pytest.mark.parametrize("ended", ["delete", "rebase"])
def test_a_drop_for_good_leaves_deleted_branches_to_be_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    at_once(monkeypatch)
    root = str(tmp_path / "graph")
    graph = og.init(root, "node Person { name: String @key  v: I64? }")
    put(graph, "a")
    graph.branches.create("dev")
    commit = put(graph, "d", branch="dev")
    put(graph, "m")
    getattr(graph.branches, ended)("dev")
    graph.schema.apply(PEOPLE, allow_data_loss=True)
    if ended == "delete":
        og.open(root).branches.restore("dev")
        assert names(root, branch="dev") == ["a", "d"]
    else:
        og.open(root).branches.create("as-it-was", commit=commit)
        assert names(root, branch="as-it-was") == ["a", "d"]
    assert_sound(root)


def test_a_drop_for_good_that_was_cut_off_says_what_may_be_left(tmp_path: Path) -> None:
    root = tmp_path / "graph"
    og.init(root, "node Person { name: String @key  v: I64? }")
    at(Failpoint.PLAN_AFTER_PUT, die)
    with pytest.raises(Killed):
        og.open(root).schema.apply(PEOPLE, allow_data_loss=True, idempotency_key="drop")
    done = og.open(root).schema.apply(PEOPLE, allow_data_loss=True, idempotency_key="drop")
    assert done.applied
    assert "may still be stored" in done.warnings[0]


def test_repair_beside_a_cleanup_reports_no_damage(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = og.open(root)
    put(graph, "a", "b", "c")
    verify, seen = repairing.verify_tables, list[int]()

    def late(*given: Any) -> Any:
        if not seen:
            seen.append(1)
            og.open(root).cleanup(keep=1)
        return verify(*given)

    monkeypatch.setattr(repairing, "verify_tables", late)
    assert og.open(root).repair().ok


def test_a_rebase_of_a_branch_whose_delete_died_says_what_to_do(root: str) -> None:
    graph = og.open(root)
    graph.branches.create("dev")
    put(graph, "d", branch="dev")
    put(graph, "m")
    at(Failpoint.BRANCH_DELETE_BEFORE_CLOSE, die)
    with pytest.raises(Killed):
        graph.branches.delete("dev")
    with pytest.raises(og.Contention, match="restore it"):
        og.open(root).branches.rebase("dev")
    og.open(root).branches.restore("dev")
    og.open(root).branches.rebase("dev")
    assert names(root, branch="dev") == ["d", "m"]


def test_two_drops_for_good_of_one_table_take_each_what_it_says_in_any_order(tmp_path: Path) -> None:
    """The later one has swept when the earlier one comes to it: what it took does not come back."""
    root = str(tmp_path / "graph")
    og.init(root, "node Person { name: String @key  v: I64?  w: I64? }")
    put(og.open(root), "a", "b")
    without_v = "node Person { name: String @key  w: I64? }"

    def drop_more() -> None:
        assert not og.open(root).schema.apply(PEOPLE, allow_data_loss=True).warnings

    # When the plan is gone, and the sweep has not begun.
    at(Failpoint.PLAN_BEFORE_DELETE, lambda: at(Failpoint.RECOVERY_AFTER_LIST, drop_more))
    done = og.open(root).schema.apply(without_v, allow_data_loss=True)
    assert done.commit_id is not None
    assert names(root) == ["a", "b"]
    assert_sound(root)
    with pytest.raises(og.NotFound):
        og.open(root).snapshot(commit=done.commit_id).table("node:Person")


def test_what_a_rebased_branch_was_keeps_the_tables_that_it_had_from_another(tmp_path: Path) -> None:
    """Until a cleanup drops it: a drop for good on the other branch says nothing of it."""
    root = str(tmp_path / "graph")
    graph = og.init(root, f"{PEOPLE}\nnode Thing {{ name: String @key  v: I64? }}")
    insert = "query q($n: String) { insert Thing { name: $n } }"
    graph.mutate(insert, {"n": "t1"})
    graph.branches.create("dev")
    commit = put(graph, "d", branch="dev")
    graph.mutate(insert, {"n": "t2"})
    graph.branches.rebase("dev")
    graph.schema.apply(f"{PEOPLE}\nnode Thing {{ name: String @key }}", allow_data_loss=True)
    graph = og.open(root)
    graph.branches.create("as-it-was", commit=commit)
    things = "query q() { match { $t: Thing } return { $t.name as name } }"
    assert graph.query(things, branch="as-it-was").rows == [{"name": "t1"}]
    assert_sound(root)
