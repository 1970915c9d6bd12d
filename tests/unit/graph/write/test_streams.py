"""Batches of streaming applications: what has landed is recognised, by writers and by recovery."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.run import run_load
from omnigraph.graph.write.prepare import Preparation
from omnigraph.pipeline.engine import SparkEngine

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g", SCHEMA)


def _land(graph: og.Graph, app: str, batch: int, name: str) -> None:
    record = {"type": "Person", "data": {"name": name}}
    request = LoadRequest(source=[record], mode="merge", engine="local", streams={app: batch})
    run_load(graph, request, SparkEngine(graph.settings))


def _names(graph: og.Graph) -> list[str]:
    return sorted(graph.snapshot().table("node:Person").scan(["name"])["name"].to_pylist())


def test_a_batch_lands_once_and_applications_are_apart(graph: og.Graph) -> None:
    _land(graph, "crm", 0, "ada")
    _land(graph, "web", 0, "bob")
    _land(graph, "crm", 1, "cyd")
    for batch in (0, 1):
        with pytest.raises(og.BatchLanded) as told:
            _land(graph, "crm", batch, "never")
        assert (told.value.app_id, told.value.landed) == ("crm", 1)
    assert _names(graph) == ["ada", "bob", "cyd"]


def test_every_later_commit_and_a_fork_remember_the_batch(graph: og.Graph) -> None:
    _land(graph, "crm", 7, "ada")
    graph.load([{"type": "Person", "data": {"name": "bob"}}], mode="append")
    graph.branches.create("side")
    for branch in ("main", "side"):
        with pytest.raises(og.BatchLanded, match=f"is in branch '{branch}' already"):
            _land(og.open(graph.uri, branch=branch), "crm", 7, "never")


def test_a_branch_that_is_rebased_remembers_its_batches(graph: og.Graph) -> None:
    graph.branches.create("side")
    _land(og.open(graph.uri, branch="side"), "crm", 4, "ada")
    _land(graph, "web", 1, "bob")
    graph.branches.rebase("side")
    for app, batch in (("crm", 4), ("web", 1)):
        with pytest.raises(og.BatchLanded):
            _land(og.open(graph.uri, branch="side"), app, batch, "never")


def test_of_two_drivers_with_the_same_batch_only_one_lands_it(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Preparation.prepare
    other = og.open(graph.uri)
    raced: list[bool] = []

    def prepare_late(self: Preparation, operation_id: str) -> object:
        plan = prepare(self, operation_id)
        if not raced:
            raced.append(True)
            _land(other, "crm", 3, "first")
        return plan

    monkeypatch.setattr(Preparation, "prepare", prepare_late)
    with pytest.raises(og.BatchLanded):
        _land(graph, "crm", 3, "second")
    assert _names(graph) == ["first"]
