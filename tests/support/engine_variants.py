"""One graph in every state that must not change an answer, and one query asked in every way.

A variant is a function from a stored graph to a way of asking; add it to `VARIANTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.execution.local.steps import expand, match
from omnigraph.execution.plan import access
from support.another_process import as_another_process
from support.generated_graphs import KEYS, World
from support.generated_queries import Asked

Ask = Callable[[Asked], og.Result]


@dataclass(frozen=True)
class Stored:
    """A world as graphs on disk, each made when a variant first needs it."""

    world: World
    folder: Path

    @cached_property
    def whole(self) -> og.Graph:
        """Every record from one load."""
        graph = og.init(self.folder / "whole", self.world.shape.text)
        if self.world.records:
            graph.load(self.world.records, mode="append")
        return graph

    @cached_property
    def twin(self) -> str:
        """A branch of the whole graph that shares all its tables."""
        self.whole.branches.create("twin")
        return "twin"

    @cached_property
    def history(self) -> tuple[og.Graph, str]:
        """A graph that was emptied after the commit."""
        graph = og.open(self.whole.uri)
        seen = graph.snapshot().commit_id
        graph.branches.create("later")
        gone = " ".join(f"delete {node.name} where id is not null" for node in self.world.shape.nodes)
        graph.mutate(f"query q() {{ {gone} }}", branch="later")
        return graph, seen

    @cached_property
    def worn(self) -> og.Graph:
        """Many fragments: loaded in pieces, with rows that were deleted and rows that were replaced."""
        graph = og.init(self.folder / "worn", self.world.shape.text)
        for records in self.pieces():
            if records:
                graph.load(records, mode="merge")
        self.remove_decoys(graph)
        return graph

    @cached_property
    def joined(self) -> str:
        """A branch of the worn graph, optimized: its fragments joined, its indexes built."""
        self.worn.branches.create("joined")
        self.worn.optimize("joined")
        return "joined"

    @cached_property
    def indexed(self) -> str:
        """A branch of the whole graph with every index that its schema declares."""
        self.whole.branches.create("indexed")
        self.whole.ensure_indices("indexed")
        return "indexed"

    @cached_property
    def partly_indexed(self) -> og.Graph:
        """Indexes were built after half of the loads; rows added or replaced since are not in them."""
        graph = og.init(self.folder / "partly", self.world.shape.text)
        pieces = self.pieces()
        for number, records in enumerate(pieces):
            if number == len(pieces) // 2:
                graph.ensure_indices()
            if records:
                graph.load(records, mode="merge")
        self.remove_decoys(graph)
        return graph

    def remove_decoys(self, graph: og.Graph) -> None:
        """Delete what is not in the world, and its edges."""
        ids = {f"id_{name.lower()}": id_ for name, (_, id_) in self.decoys.items()}
        declared = ", ".join(f"${name}: String" for name in ids)
        deletes = " ".join(f"delete {name} where id = $id_{name.lower()}" for name in self.decoys)
        graph.mutate(f"query q({declared}) {{ {deletes} }}", ids)

    def pieces(self) -> list[list[dict[str, Any]]]:
        """Return the records in several loads, with decoys, and some first in a wrong form."""
        nodes = [record for record in self.world.records if "type" in record]
        edges = [record for record in self.world.records if "edge" in record]
        wrong = [self.bare(record) for record in nodes[::2]]
        decoys = [record for record, _ in self.decoys.values()]
        stray = [
            {"edge": edge.name, "from": self.decoys[edge.source][1], "to": self.decoys[edge.target][1],
             "data": {**self.required(edge.name), "id": f"stray-{edge.name}"}}
            for edge in self.world.shape.edges
        ]  # fmt: skip
        return [wrong + decoys + stray, nodes[1::2], nodes[::2] + edges[::2], edges[1::2]]

    @cached_property
    def decoys(self) -> dict[str, tuple[dict[str, Any], str]]:
        """A node of each type that is not in the world, and its id."""
        found = {}
        for node in self.world.shape.nodes:
            data: dict[str, Any] = self.required(node.name)
            key = next((item for item in node.properties if item.is_key), None)
            data |= {"id": "decoy"} if key is None else {"key": KEYS[key.base][-1]}
            record = {"type": node.name, "data": data}
            alone = World(self.world.shape, (record,)).reference()
            found[node.name] = (record, next(iter(alone.nodes[node.name])))
        return found

    def required(self, type_name: str) -> dict[str, Any]:
        """Return the simplest values of the properties that a type must have."""
        types = (*self.world.shape.nodes, *self.world.shape.edges)
        owner = next(item for item in types if item.name == type_name)
        return {
            item.name: item.simplest for item in owner.properties if not item.is_nullable and not item.is_key
        }

    def bare(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a node with the same id and other values."""
        kept = {name: value for name, value in record["data"].items() if name in ("id", "key")}
        return {"type": record["type"], "data": {**self.required(record["type"]), **kept}}


def _plainly(stored: Stored) -> Ask:
    return lambda asked: stored.whole.query(asked.text, asked.params)


def _prepared(stored: Stored) -> Ask:
    return lambda asked: stored.whole.prepare(asked.text)(asked.params)


def _from_a_new_handle(stored: Stored) -> Ask:
    def ask(asked: Asked) -> og.Result:
        with as_another_process():
            return og.open(stored.whole.uri, read_only=True).query(asked.text, asked.params)

    return ask


def _on_a_branch(stored: Stored) -> Ask:
    return lambda asked: stored.whole.query(asked.text, asked.params, branch=stored.twin)


def _in_the_past(stored: Stored) -> Ask:
    graph, seen = stored.history
    return lambda asked: graph.query(asked.text, asked.params, snapshot=seen)


def _in_fragments(stored: Stored) -> Ask:
    return lambda asked: stored.worn.query(asked.text, asked.params)


def _joined(stored: Stored) -> Ask:
    return lambda asked: stored.worn.query(asked.text, asked.params, branch=stored.joined)


def _as_it_is_written(stored: Stored) -> Ask:
    return lambda asked: stored.whole.query(asked.text, asked.params, optimise=False)


def _explained(stored: Stored) -> Ask:
    def ask(asked: Asked) -> og.Result:
        assert str(stored.whole.explain(asked.text, asked.params))
        told = stored.whole.explain(asked.text, asked.params, analyze=True)
        result = stored.whole.query(asked.text, asked.params)
        assert told.rows == len(result)
        return result

    return ask


def _streamed(stored: Stored) -> Ask:
    def ask(asked: Asked) -> og.Result:
        stream = stored.whole.stream(asked.text, asked.params, batch_rows=2)
        table = stream.to_reader().read_all()
        return og.Result(
            stream.schema, [column.combine_chunks() for column in table.columns], stream.commit_id
        )

    return ask


def _indexed(stored: Stored) -> Ask:
    return lambda asked: stored.whole.query(asked.text, asked.params, branch=stored.indexed)


def _partly_indexed(stored: Stored) -> Ask:
    return lambda asked: stored.partly_indexed.query(asked.text, asked.params)


def _in_small_pieces(stored: Stored) -> Ask:
    """Cut frames often, and take equal rows of all pieces but the first as they are."""
    small = [(expand, "PIECE_ROWS", 3), (match, "ENOUGH_ROWS_TO_TELL", 1), (match, "RARELY_EQUAL_SHARE", 0)]

    def ask(asked: Asked) -> og.Result:
        with pytest.MonkeyPatch.context() as patched:
            for module, name, value in small:
                patched.setattr(module, name, value)
            return stored.whole.query(asked.text, asked.params)

    return ask


@contextmanager
def _every_table_is_large() -> Iterator[None]:
    """Make the engine look rows up through indexes where it would read so small a table."""
    before = access.LARGE_TABLE_ROWS, access.MANY_ROWS
    access.LARGE_TABLE_ROWS = access.MANY_ROWS = 0
    try:
        yield
    finally:
        access.LARGE_TABLE_ROWS, access.MANY_ROWS = before


def _through(graph: og.Graph, branch: str = "main") -> Ask:
    """Ask a new handle, which has read nothing yet."""

    def ask(asked: Asked) -> og.Result:
        with _every_table_is_large(), as_another_process():
            reader = og.open(graph.uri, read_only=True)
            return reader.query(asked.text, asked.params, branch=branch)

    return ask


def _through_indexes(stored: Stored) -> Ask:
    return _through(stored.whole, stored.indexed)


def _through_joined_indexes(stored: Stored) -> Ask:
    return _through(stored.worn, stored.joined)


def _through_partial_indexes(stored: Stored) -> Ask:
    return _through(stored.partly_indexed)


def _filtered_by_storage(stored: Stored) -> Ask:
    return _through(stored.worn)


VARIANTS: dict[str, Callable[[Stored], Ask]] = {
    "plainly": _plainly,
    "as it is written": _as_it_is_written,
    "explained": _explained,
    "prepared": _prepared,
    "streamed": _streamed,
    "in small pieces": _in_small_pieces,
    "from a new handle": _from_a_new_handle,
    "on a branch that shares its tables": _on_a_branch,
    "in the past": _in_the_past,
    "in fragments with deleted rows": _in_fragments,
    "optimized": _joined,
    "with every index": _indexed,
    "with indexes of some rows": _partly_indexed,
    "through every index": _through_indexes,
    "through indexes after joining": _through_joined_indexes,
    "through indexes of some rows": _through_partial_indexes,
    "filtered by storage without indexes": _filtered_by_storage,
}
