"""Merges of proposals that were given up, beside cleanups, and with damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.proposals import settle
from omnigraph.graph.recovery import owner
from support.care import at_once
from support.interleaving import Killed, at, die
from support.workers import Worker, Workers

SCHEMA = "node Person { name: String @key }\nnode Other { name: String @key }"


def _add(graph: og.Graph, name: str, branch: str = "main", kind: str = "Person") -> None:
    graph.mutate(f'query q() {{ insert {kind} {{ name: "{name}" }} }}', branch=branch)


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    """Two branches that have both changed, and a proposal to merge one into the other."""
    at_once(monkeypatch)
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    _add(graph, "p1")
    graph.branches.create("a")
    _add(graph, "of a", "a")
    _add(graph, "of main")
    return graph


def _people(graph: og.Graph) -> set[str]:
    return {row["n"] for row in graph.query("query q() { match { $p: Person } return { $p.name as n } }")}


@pytest.mark.parametrize("point", ["plan.before_put", "write.after_all_tables"])
def test_a_merge_that_was_given_up_and_goes_on_after_a_cleanup_cannot_merge_what_was_closed(
    graph: og.Graph, worker: Worker, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """It is held up, others take it for dead, and a cleanup drops the note that says so."""
    made = graph.proposals.create("a").id
    worker.tell("merge_proposal", graph.uri, made, failpoints=f"{point}=park")
    worker.wait_parked(point)
    monkeypatch.setattr(owner, "_runs", lambda *_: False)
    bob = og.open(graph.uri, actor="act-bob")
    assert bob.proposals.close(made).state == "closed"
    _add(bob, "o1", kind="Other")
    bob.cleanup(keep=1)
    _add(bob, "o2", kind="Other")
    bob.cleanup(keep=1)
    worker.release(point)
    with pytest.raises((og.NotMergeable, og.Conflict)):
        worker.answer()
    assert (_people(bob), bob.proposals.show(made).state) == ({"p1", "of main"}, "closed")
    assert og.open(graph.uri).repair(scrub=True).ok


def test_a_merge_that_goes_on_after_a_cleanup_and_dies_is_not_finished_by_recovery(
    graph: og.Graph, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan came after the note that it was given up had been dropped."""
    made = graph.proposals.create("a").id
    worker.tell(
        "merge_proposal", graph.uri, made, failpoints="plan.before_put=park;publish.before_record=kill"
    )
    worker.wait_parked("plan.before_put")
    with monkeypatch.context() as patched:
        patched.setattr(owner, "_runs", lambda *_: False)
        bob = og.open(graph.uri, actor="act-bob")
        assert bob.proposals.close(made).state == "closed"
        for name in ("o1", "o2"):
            _add(bob, name, kind="Other")
            bob.cleanup(keep=1)
    worker.release("plan.before_put")
    worker.die()
    after = og.open(graph.uri)
    assert (_people(after), after.proposals.show(made).state) == ({"p1", "of main"}, "closed")
    assert after.repair(scrub=True).ok


def test_a_damaged_key_of_a_merge_that_was_cut_off_stops_neither_cleanup_nor_a_listing(
    graph: og.Graph, worker: Worker
) -> None:
    other = graph.proposals.create("a", title="other").id
    made = graph.proposals.create("a").id
    worker.tell("merge_proposal", graph.uri, made, failpoints="proposal.before_merged=kill")
    worker.die()
    [claim] = Path(graph.uri).glob("__manifest/keys/*/*")
    claim.write_bytes(claim.read_bytes()[:-5] + b"xxxxx")
    again = og.open(graph.uri)
    again.cleanup()
    assert {item.id for item in again.proposals.list()} >= {other}
    assert [item.where for item in again.repair().findings if "keys" in item.where]


def test_a_merge_is_given_up_also_when_who_does_that_is_killed_half_way(
    graph: og.Graph, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then another decides, and the merge that was only held up goes on."""
    made = graph.proposals.create("a").id
    worker.tell("merge_proposal", graph.uri, made, failpoints="plan.before_put=park")
    worker.wait_parked("plan.before_put")
    monkeypatch.setattr(owner, "_runs", lambda *_: False)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(settle, "give_up_commit", lambda *_: die())
        og.open(graph.uri, actor="act-bob").proposals.close(made)
    bob = og.open(graph.uri, actor="act-bob")
    assert bob.proposals.close(made).state == "closed"
    worker.release("plan.before_put")
    with pytest.raises((og.NotMergeable, og.Conflict)):
        worker.answer()
    assert (_people(bob), bob.proposals.show(made).state) == ({"p1", "of main"}, "closed")


def test_who_was_taken_for_dead_does_not_end_the_merge_of_another(
    graph: og.Graph, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = graph.proposals.create("a").id
    first = workers.take()
    first.tell("merge_proposal", graph.uri, made, failpoints="merge.after_capture=park")
    first.wait_parked("merge.after_capture")
    monkeypatch.setattr(owner, "_runs", lambda *_: False)

    def overtaken() -> None:
        first.release("merge.after_capture")
        with pytest.raises((og.NotMergeable, og.Conflict)):
            first.answer()

    bob = og.open(graph.uri, actor="act-bob")
    at(Failpoint.MERGE_AFTER_CAPTURE, overtaken)
    merged = bob.proposals.merge(made)
    shown = bob.proposals.show(made)
    assert (shown.state, shown.merged_commit) == ("merged", merged.commit_id)


def test_a_check_that_is_changed_during_a_merge_is_run_as_it_is_now(graph: og.Graph, worker: Worker) -> None:
    """The two proposals have no table in common."""
    check = 'query bad() { match { $p: Person { name: "nobody" } } return { $p.name as n } }'
    graph.queries.apply({"bad": check})
    graph.branches.create("b")
    og.open(graph.uri, branch="b").queries.apply({"bad": check.replace("nobody", "of a")})
    graph.branches.protect("main", approvals=0, checks=["bad"])
    made = graph.proposals.create("a").id
    other = graph.proposals.create("b").id
    worker.tell("merge_proposal", graph.uri, made, failpoints="publish.before_record=park")
    worker.wait_parked("publish.before_record")
    assert graph.proposals.merge(other).commit_id
    worker.release("publish.before_record")
    with pytest.raises(og.NotMergeable, match="bad"):
        worker.answer()
    assert _people(graph) == {"p1", "of main"}


def test_a_drop_for_good_does_not_forget_a_merge_that_nobody_has_noted(
    graph: og.Graph, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = graph.proposals.create("a").id
    worker.tell("merge_proposal", graph.uri, made, failpoints="proposal.before_merged=kill")
    worker.die()
    monkeypatch.setenv("OMNIGRAPH_IDEMPOTENCY_SECONDS", "0")
    for schema in (f"{SCHEMA}\nnode More {{ name: String @key }}", SCHEMA, SCHEMA.splitlines()[0]):
        bob = og.open(graph.uri, actor="act-bob")
        bob.schema.apply(schema, allow_data_loss=True)
    assert og.open(graph.uri).proposals.show(made).state == "merged"
