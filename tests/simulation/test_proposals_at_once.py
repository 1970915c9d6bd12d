"""Several who add to one proposal at once, lose answers, or fill it: nothing is lost or said twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import PreconditionFailed
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.proposals.events import EventKind, StoredEvent
from omnigraph.graph.proposals.stored import ReadProposal, StoredProposals
from omnigraph.storage.objects.local import LocalStore
from support.interleaving import at

SCHEMA = "node Person { name: String @key }"
WAIT_SECONDS = 20


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    graph.branches.create("a")
    graph.mutate('query q() { insert Person { name: "of a" } }', branch="a")
    return graph


def _kinds(graph: og.Graph, id: str) -> list[str]:
    return [event.kind for event in graph.proposals.show(id).events]


def test_who_loses_the_race_to_merge_does_not_take_the_other_for_dead(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are threads of one process, as in a server."""
    made = graph.proposals.create("a").id
    begun, go_on, done = threading.Event(), threading.Event(), list[og.Merge | og.OmniError]()
    add = StoredProposals.add

    def wait() -> None:
        begun.set()
        assert go_on.wait(WAIT_SECONDS)

    def first() -> None:
        at(Failpoint.PROPOSAL_AFTER_START, wait)
        try:
            done.append(og.open(graph.uri).proposals.merge(made))
        except og.OmniError as error:
            done.append(error)

    thread = threading.Thread(target=first)

    def add_late(stored: StoredProposals, read: ReadProposal, event: StoredEvent) -> ReadProposal | None:
        if event.kind is EventKind.MERGE_STARTED and not begun.is_set():
            monkeypatch.setattr(StoredProposals, "add", add)
            thread.start()
            assert begun.wait(WAIT_SECONDS)
        return add(stored, read, event)

    monkeypatch.setattr(StoredProposals, "add", add_late)
    with pytest.raises(og.Contention, match="being merged"):
        graph.proposals.merge(made)
    go_on.set()
    thread.join()
    (merged,) = done
    assert isinstance(merged, og.Merge), merged
    assert graph.proposals.show(made).merged_commit == merged.commit_id


def _lose_next_answer(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Let the next replaced object be replaced, others write over it, and the answer be lost."""
    replace = LocalStore.replace

    def lost(store: LocalStore, path: str, data: bytes, etag: str) -> Any:
        monkeypatch.setattr(LocalStore, "replace", replace)
        replace(store, path, data, etag)
        meanwhile()
        raise PreconditionFailed("sent again")

    monkeypatch.setattr(LocalStore, "replace", lost)


def test_what_was_said_and_whose_answer_was_lost_is_said_once_though_others_have_gone_on(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = graph.proposals.create("a").id
    bob = og.open(graph.uri, actor="act-bob")
    _lose_next_answer(monkeypatch, lambda: bob.proposals.comment(made, "second"))
    graph.proposals.comment(made, "first")
    assert [item.text for item in graph.proposals.show(made).comments] == ["first", "second"]
    _lose_next_answer(monkeypatch, lambda: graph.proposals.comment(made, "third"))
    bob.proposals.approve(made)
    assert _kinds(graph, made).count("approved") == 1
    _lose_next_answer(monkeypatch, lambda: bob.proposals.comment(made, "fourth"))
    merged = graph.proposals.merge(made)
    assert _kinds(graph, made).count("merge_started") == 1
    assert graph.proposals.show(made).merged_commit == merged.commit_id


def test_a_proposal_that_is_full_says_all_the_same_how_its_merge_has_ended(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_PROPOSAL_BYTES", "3000")
    graph = og.open(graph.uri, actor="act-ada")
    made = graph.proposals.create("a").id

    def fill() -> None:
        bob = og.open(graph.uri, actor="act-bob")
        for size in (500, 1):
            with pytest.raises(og.ResourceLimit):
                for _ in range(100):
                    bob.proposals.comment(made, "x" * size)

    at(Failpoint.PROPOSAL_BEFORE_MERGED, fill)
    merged = graph.proposals.merge(made)
    assert graph.proposals.show(made).merged_commit == merged.commit_id
    og.open(graph.uri).cleanup()
    assert [item.state for item in og.open(graph.uri).proposals.list()] == ["merged"]


def test_a_full_proposal_can_be_closed(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_PROPOSAL_BYTES", "3000")
    graph = og.open(graph.uri, actor="act-ada")
    made = graph.proposals.create("a").id
    for size in (500, 1):
        with pytest.raises(og.ResourceLimit):
            for _ in range(100):
                graph.proposals.comment(made, "x" * size)
    assert graph.proposals.close(made).state == "closed"
