"""Proposals against pushes, other merges, decisions and kills, with the order forced, in processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.graph.recovery import owner
from support.workers import Worker

SCHEMA = "node Person { name: String @key  note: String? }"
ADD = "query q($n: String) { insert Person { name: $n } }"
NOTE = 'query q($n: String) { update Person set { note: $n } where name = "p1" }'
POINTS = ("merge.after_capture", "merge.after_checks", "write.after_all_tables", "publish.before_record")
STARTED = ("proposal.after_start", *POINTS)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A protected main, and a branch `a` of ada's that bob has approved."""
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    graph.mutate(ADD, {"n": "p1"})
    graph.branches.create("a")
    graph.mutate(ADD, {"n": "of a"}, branch="a")
    graph.branches.protect("main", approvals=1)
    return graph


@pytest.fixture
def bob(graph: og.Graph) -> og.Graph:
    return og.open(graph.uri, actor="act-bob")


@pytest.fixture
def id(graph: og.Graph, bob: og.Graph) -> str:
    made = graph.proposals.create("a", title="a").id
    bob.proposals.approve(made)
    return made


def people(graph: og.Graph) -> set[str]:
    return {row["p.name"] for row in graph.query("query q() { match { $p: Person } return { $p.name } }")}


def merges(graph: og.Graph) -> list[og.Commit]:
    return [commit for commit in graph.commits.list() if commit.operation == "merge"]


@pytest.mark.parametrize("point", POINTS)
def test_a_push_during_a_merge_is_not_merged_and_voids_the_approval(
    point: str, graph: og.Graph, id: str, worker: Worker
) -> None:
    captured = graph.snapshot("a").commit_id
    worker.tell("merge_proposal", graph.uri, id, failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph.mutate(ADD, {"n": "late"}, branch="a")
    worker.release(point)
    commit = graph.commits.show(worker.answer())
    assert (people(graph), commit.metadata["proposal"]) == ({"p1", "of a"}, id)
    shown = graph.proposals.show(id)
    assert (shown.state, shown.merged_commit, shown.source_commit) == ("merged", commit.id, captured)


def test_a_push_before_the_source_is_fixed_is_judged_with_the_rest(
    graph: og.Graph, id: str, worker: Worker
) -> None:
    worker.tell("merge_proposal", graph.uri, id, failpoints="proposal.after_start=park")
    worker.wait_parked("proposal.after_start")
    graph.mutate(ADD, {"n": "late"}, branch="a")
    worker.release("proposal.after_start")
    with pytest.raises(og.NotMergeable) as caught:
        worker.answer()
    assert [reason["code"] for reason in caught.value.reasons] == ["approvals_missing"]
    assert (people(graph), graph.proposals.show(id).state) == ({"p1"}, "open")


@pytest.mark.parametrize("point", STARTED)
def test_of_two_merges_one_is_made_and_nothing_is_decided_beside_it(
    point: str, graph: og.Graph, bob: og.Graph, id: str, worker: Worker
) -> None:
    worker.tell("merge_proposal", graph.uri, id, failpoints=f"{point}=park")
    worker.wait_parked(point)
    for decide in (
        lambda: bob.proposals.merge(id),
        lambda: bob.proposals.request_changes(id, "stop"),
        lambda: bob.proposals.close(id),
        lambda: bob.proposals.resolve(id, []),
    ):
        with pytest.raises(og.Contention, match="being merged"):
            decide()
    bob.proposals.comment(id, "hm")
    assert [reason.code for reason in bob.proposals.mergeable(id).reasons] == ["being_merged"]
    worker.release(point)
    commit = worker.answer()
    assert bob.proposals.merge(id).commit_id == commit
    assert len(merges(graph)) == 1


@pytest.mark.parametrize("point", POINTS[1:])
def test_a_protection_that_comes_during_a_merge_is_met_or_the_merge_is_refused(
    point: str, graph: og.Graph, id: str, worker: Worker
) -> None:
    worker.tell("merge_proposal", graph.uri, id, failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph.branches.protect("main", approvals=2)
    worker.release(point)
    with pytest.raises(og.NotMergeable, match="1 of 2 approvals"):
        worker.answer()
    assert people(graph) == {"p1"}
    graph.branches.unprotect("main")
    assert graph.proposals.merge(id).outcome == "fast_forward"


@pytest.mark.parametrize("point", POINTS)
def test_a_write_under_way_does_not_get_into_a_branch_that_is_protected_meanwhile(
    point: str, graph: og.Graph, worker: Worker
) -> None:
    graph.branches.unprotect("main")
    worker.tell("merge", graph.uri, "a", failpoints=f"{point}=park")
    worker.wait_parked(point)
    graph.branches.protect("main", approvals=1)
    worker.release(point)
    with pytest.raises(og.BranchProtected):
        worker.answer()
    assert people(graph) == {"p1"}


def test_an_approval_during_a_push_is_for_what_it_has_seen(
    graph: og.Graph, bob: og.Graph, worker: Worker
) -> None:
    made = graph.proposals.create("a").id
    seen = graph.snapshot("a").commit_id
    worker.tell("mutate_branch", graph.uri, "a", ADD, {"n": "x"}, failpoints="publish.before_record=park")
    worker.wait_parked("publish.before_record")
    assert bob.proposals.approve(made, commit=seen).approvals[0].is_current
    worker.release("publish.before_record")
    worker.answer()
    assert not graph.proposals.show(made).approvals[0].is_current
    with pytest.raises(og.PreconditionFailed):
        bob.proposals.approve(made, commit=seen)
    with pytest.raises(og.NotMergeable):
        graph.proposals.merge(made)


def test_a_merge_that_was_killed_after_its_commit_is_found_and_not_made_again(
    graph: og.Graph, bob: og.Graph, id: str, worker: Worker
) -> None:
    worker.tell("merge_proposal", graph.uri, id, failpoints="proposal.before_merged=kill")
    worker.die()
    reader = og.open(graph.uri, read_only=True)
    assert reader.proposals.show(id).merged_commit == graph.snapshot().commit_id
    assert graph.proposals.list("open") == []
    assert [reason.code for reason in bob.proposals.mergeable(id).reasons] == ["merged"]
    with pytest.raises(og.ProposalClosed):
        bob.proposals.close(id)
    assert bob.proposals.merge(id).commit_id == graph.snapshot().commit_id
    assert len(merges(graph)) == 1
    assert [event.kind for event in graph.proposals.show(id).events][-1] == "merged"


@pytest.mark.parametrize("point", [*STARTED, "plan.after_put", "publish.after_record"])
def test_a_merge_that_was_killed_anywhere_is_made_once_by_the_next(
    point: str, graph: og.Graph, id: str, worker: Worker
) -> None:
    worker.tell("merge_proposal", graph.uri, id, failpoints=f"{point}=kill")
    worker.die()
    assert graph.proposals.merge(id).commit_id
    assert (people(graph), len(merges(graph))) == ({"p1", "of a"}, 1)
    assert graph.repair().findings == ()


@pytest.mark.parametrize("point", STARTED[:-1])
def test_a_merge_that_was_given_up_and_goes_on_cannot_merge_what_was_closed(
    point: str, graph: og.Graph, bob: og.Graph, id: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held up, and others take its process for dead."""
    worker.tell("merge_proposal", graph.uri, id, failpoints=f"{point}=park")
    worker.wait_parked(point)
    monkeypatch.setattr(owner, "_runs", lambda *_: False)
    assert bob.proposals.close(id).state == "closed"
    worker.release(point)
    with pytest.raises((og.NotMergeable, og.Conflict)):
        worker.answer()
    assert (people(graph), graph.proposals.show(id).state) == ({"p1"}, "closed")


def test_a_merge_whose_plan_stands_is_finished_by_who_takes_it_for_dead(
    graph: og.Graph, bob: og.Graph, id: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.tell("merge_proposal", graph.uri, id, failpoints="publish.before_record=park")
    worker.wait_parked("publish.before_record")
    monkeypatch.setattr(owner, "_runs", lambda *_: False)
    with pytest.raises(og.ProposalClosed, match="merged"):
        bob.proposals.close(id)
    worker.release("publish.before_record")
    assert worker.answer() == graph.snapshot().commit_id == graph.proposals.show(id).merged_commit
    assert len(merges(graph)) == 1


def test_nobody_approves_what_came_into_the_source_by_a_merge_of_anothers_branch(
    graph: og.Graph, bob: og.Graph
) -> None:
    graph.branches.create("of-bob", "a")
    bob.mutate(ADD, {"n": "of bob"}, branch="of-bob")
    graph.branches.merge("of-bob", into="a")
    made = graph.proposals.create("a", title="together").id
    with pytest.raises(og.PolicyDenied, match="nobody approves what they have"):
        bob.proposals.approve(made)
    og.open(graph.uri, actor="act-cyd").proposals.approve(made)
    assert graph.proposals.merge(made).outcome == "fast_forward"
