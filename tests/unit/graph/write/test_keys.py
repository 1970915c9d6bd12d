"""Idempotency keys: of any number of tries one becomes a commit, and the others answer with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import InjectedFault
from omnigraph.graph.write import keys
from support.care import PEOPLE, at_once, fill
from support.processes import run_in_threads

ADD = "query add($n: String) { insert Person { name: $n } }"
RECORDS = [{"type": "Person", "data": {"name": "loaded"}}]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with two people."""
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    return graph


def _people(graph: og.Graph) -> list[str]:
    found = graph.query("query q() { match { $p: Person } return { $p.name as name } order { $p.name } }")
    return [row["name"] for row in found]


def _mutate(graph: og.Graph) -> Any:
    return graph.mutate(ADD, {"n": "once"}, idempotency_key="k")


def _load(graph: og.Graph) -> Any:
    return graph.load(RECORDS, mode="append", idempotency_key="k")


def _merge(graph: og.Graph) -> Any:
    return graph.branches.merge("dev", idempotency_key="k")


def _apply(graph: og.Graph) -> Any:
    return graph.schema.apply(PEOPLE + "\nnode City { name: String @key }\n", idempotency_key="k")


@pytest.mark.parametrize("write", [_mutate, _load, _merge, _apply])
def test_the_same_key_again_answers_with_the_first_commit(
    graph: og.Graph, write: Callable[[og.Graph], Any]
) -> None:
    graph.branches.create("dev")
    fill(graph, 1, 10, "dev")
    first = write(graph)
    head = graph.snapshot().commit_id
    again = write(og.open(graph.uri))
    assert again.commit_id == first.commit_id == head == graph.snapshot().commit_id
    told = ("affected_nodes", "affected_edges", "nodes", "edges", "outcome", "base", "counts", "steps")
    for name in (name for name in told if hasattr(first, name)):
        assert getattr(again, name) == getattr(first, name)


def test_tries_at_the_same_time_become_one_commit(graph: og.Graph) -> None:
    before = graph.snapshot().version
    commits = run_in_threads(lambda: _mutate(og.open(graph.uri)).commit_id, [()] * 6)
    assert len(set(commits)) == 1
    assert graph.snapshot().version == before + 1


def test_a_key_belongs_to_one_kind_of_write_and_one_branch(graph: og.Graph) -> None:
    graph.branches.create("dev")
    first = _mutate(graph)
    with pytest.raises(og.BadInput, match="was used for a mutation, not for a load"):
        _load(graph)
    on_dev = og.open(graph.uri, branch="dev").mutate(ADD, {"n": "once"}, idempotency_key="k")
    assert on_dev.commit_id not in (None, first.commit_id)


def test_a_write_that_failed_has_not_used_its_key_up(graph: og.Graph) -> None:
    with pytest.raises(og.OmniError):
        graph.load([{"type": "Person", "data": {"nam": "x"}}], mode="append", idempotency_key="k")
    assert _load(graph).nodes == {"Person": 1}
    assert "loaded" in _people(graph)


def test_a_write_whose_answer_was_lost_is_not_made_again(graph: og.Graph) -> None:
    with failpoints.arm_temporarily("publish.after_record", "raise"), pytest.raises(InjectedFault):
        _mutate(graph)
    head = graph.snapshot().version
    assert _mutate(graph).commit_id == graph.snapshot().commit_id
    assert graph.snapshot().version == head
    assert _people(graph).count("once") == 1


def test_a_load_into_a_new_branch_is_made_once(graph: og.Graph) -> None:
    done = [
        graph.load(RECORDS, mode="append", branch="new", from_branch="main", idempotency_key="k")
        for _ in range(2)
    ]
    assert done[0].commit_id == done[1].commit_id
    assert done[1].nodes == {"Person": 1}


def test_a_key_outlives_its_commit_and_is_forgotten_after_its_time(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    first = _mutate(graph)
    fill(graph, 3, 20)
    og.open(graph.uri).cleanup(keep=1)
    assert _mutate(og.open(graph.uri)) == first
    assert _people(graph).count("once") == 1
    monkeypatch.setenv("OMNIGRAPH_IDEMPOTENCY_SECONDS", "0")
    og.open(graph.uri).cleanup(keep=1)
    again = _mutate(og.open(graph.uri))
    assert again != first
    assert _mutate(og.open(graph.uri)) == again
    og.open(graph.uri).cleanup(keep=1)  # makes it void
    og.open(graph.uri).cleanup(keep=1)  # removes what is void
    assert not list((Path(graph.uri) / "__manifest/keys").rglob("*.json"))


def test_a_key_that_is_sent_again_while_a_cleanup_forgets_old_ones_is_remembered(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    monkeypatch.setenv("OMNIGRAPH_IDEMPOTENCY_SECONDS", "1")
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        _mutate(graph)
    fill(graph, 2, 10)
    time.sleep(1.1)
    listed, landed = keys.layout.own, []

    def send_again_first(found: Any) -> Any:
        claims = list(listed(found))
        if any("/keys/" in info.path for info in claims) and not landed:
            landed.append(_mutate(og.open(graph.uri)).commit_id)
        return claims

    monkeypatch.setattr(keys.layout, "own", send_again_first)
    assert og.open(graph.uri).cleanup(keep=1).commits_dropped
    monkeypatch.setattr(keys.layout, "own", listed)
    assert landed == [_mutate(og.open(graph.uri)).commit_id]
    assert _people(graph).count("once") == 1


def test_a_key_that_is_sent_again_between_the_last_look_of_a_cleanup_and_its_act_is_remembered(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        _mutate(graph)
    fill(graph, 2, 10)
    monkeypatch.setenv("OMNIGRAPH_IDEMPOTENCY_SECONDS", "0")
    put, landed = keys.put_over, []

    def send_again_first(*given: Any) -> Any:
        if not landed and keys.decode_claim(given[2], given[1]).void:
            monkeypatch.setattr(keys, "put_over", put)
            landed.append(_mutate(og.open(graph.uri)).commit_id)
        return put(*given)

    monkeypatch.setattr(keys, "put_over", send_again_first)
    og.open(graph.uri).cleanup(keep=1)
    assert landed == [_mutate(og.open(graph.uri)).commit_id]
    assert _people(graph).count("once") == 1


def test_a_damaged_claim_does_not_stop_a_cleanup_and_its_key_is_refused(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    _mutate(graph)
    fill(graph, 3, 10)
    [claim] = Path(graph.uri).glob("__manifest/keys/*/*.json")
    data = bytearray(claim.read_bytes())
    data[30] ^= 1
    claim.write_bytes(data)
    assert graph.cleanup(keep=1).commits_dropped
    with pytest.raises(og.CorruptState, match="claim"):
        _mutate(og.open(graph.uri))
    assert _people(graph).count("once") == 1


def test_a_condition_on_the_head_does_not_stand_in_the_way_of_a_second_try(graph: og.Graph) -> None:
    head = graph.snapshot().commit_id
    first = graph.mutate(ADD, {"n": "once"}, if_commit=head, idempotency_key="k")
    assert graph.mutate(ADD, {"n": "once"}, if_commit=head, idempotency_key="k") == first


@pytest.mark.parametrize("key", ["", 7, "x" * 2000])
def test_a_key_that_is_not_one_is_refused(graph: og.Graph, key: Any) -> None:
    with pytest.raises(og.BadInput, match="idempotency_key"):
        graph.mutate(ADD, {"n": "once"}, idempotency_key=key)


def test_a_claim_says_what_it_is_for(graph: og.Graph) -> None:
    done = _mutate(graph)
    (claim,) = (Path(graph.uri) / "__manifest/keys").rglob("*.json")
    content = json.loads(claim.read_bytes())
    assert (content["key"], content["commit"], content["operation"]) == ("k", done.commit_id, "mutation")
