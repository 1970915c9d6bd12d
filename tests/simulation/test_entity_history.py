"""The history of single nodes and edges, over random histories, beside one that looks at every commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.graph.entity.history import EntityChange
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.sdk.entities.entity import Entity
from support.random_history import SCHEMA, RandomHistory


class Plain:
    """Finds what changed an entity by comparing each commit with its parents, as a difference does."""

    def __init__(self, graph: og.Graph, type_: str, id_: str) -> None:
        self._graph, self._type, self._id = graph, type_, id_
        self._found: list[str] = []

    def list_changes(self, tip: CommitRecord) -> list[str]:
        """Return the commits that changed it, to the beginning of history."""
        self._walk(tip)
        return sorted(self._found)

    def _walk(self, record: CommitRecord) -> None:
        chains = self._graph.internals.core.truth.chains
        while True:
            if record.parent is None:
                return
            parent = chains.at(record.parent)
            if self._differs(parent, record):
                if record.commit in self._found:
                    return
                self._found.append(record.commit)
                merged = None if record.merged_parent is None else chains.at(record.merged_parent)
                if merged is not None and self._is_there(record) and not self._differs(merged, record):
                    record = merged
                    continue
                if merged is not None and (self._is_there(merged) or not self._is_there(record)):
                    self._walk(merged)
            record = parent

    def _differs(self, before: CommitRecord, after: CommitRecord) -> bool:
        type_ = next(iter(self._types(after) & self._types(before)), None)
        found = self._graph.diff(before.commit, after.commit, types=None if type_ is None else [type_])
        return any(change.id == self._id for change in found)

    def _types(self, record: CommitRecord) -> set[str]:
        known = self._graph.snapshot(commit=record.commit).catalog.tables
        return {item.name for item in known if item.name == self._type}

    def _is_there(self, record: CommitRecord) -> bool:
        return self._graph.snapshot(commit=record.commit).entity(self._type, self._id).exists


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_every_commit_that_changed_an_entity_is_found(tmp_path: Path, seed: int) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    history = RandomHistory(graph, seed, schema_changes=seed % 2 == 0)
    for round_ in range(3):
        branch = f"b{round_}"
        graph.branches.create(branch)
        for at in range(4):
            history.step("main" if at % 2 and seed % 3 else branch)
        with suppress(og.MergeConflicts):  # of schemas; and a node that the other side has deleted
            graph.branches.merge(branch, strategy="theirs" if round_ % 2 else "ours")
    tip = graph.snapshot().record
    for type_, id_ in _entities(graph):
        there = graph.entity(type_, id_)
        found = list(there.history(earlier=True))
        assert sorted(change.commit.id for change in found) == Plain(graph, type_, id_).list_changes(tip), id_
        _check(graph, there, list(there.history()))


def _entities(graph: og.Graph) -> Iterator[tuple[str, str]]:
    yield from (("Person", f"p{at}") for at in range(0, 30, 5))
    yield from (("Knows", f"k{at}") for at in range(2))


def _check(graph: og.Graph, there: Entity, changes: list[EntityChange]) -> None:
    """Compare what each change says of before and after with the commits themselves."""
    for change in changes:
        at = graph.snapshot(commit=change.commit.id)
        assert (change.after is None) == (not at.entity(there.type, there.id).exists)
        if change.after is not None:
            assert change.after["properties"] == at.entity(there.type, there.id).properties
    if there.exists:
        assert changes[-1].op == "insert"
        blamed = there.blame()
        assert set(blamed) == set(there.properties)
        assert {commit.id for commit in blamed.values()} <= {change.commit.id for change in changes}
