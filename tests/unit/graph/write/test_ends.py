"""Ends of edges and ids of nodes, searched for in what is stored and in what is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.edges import check_new_ends
from omnigraph.graph.write.integrity.places import RecordPlace

SCHEMA = "node A { k: String @key }\nnode B { k: String @key }\nedge Same: A -> A\nedge Other: A -> B"


class Asked:
    """`StoredData` with the node `old` of each type, which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        self.asked.append((table_key, sorted(ids.to_pylist())))
        return ids.filter(pc.equal(ids, "old"))

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        raise AssertionError

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        raise AssertionError


def _check(name: str, ends: Mapping[str, Sequence[str]]) -> tuple[list[Any], list[tuple[str, list[str]]]]:
    catalog = compile_schema(SCHEMA)
    edge, node = catalog.edge(name), catalog.node("A")
    assert edge is not None and node is not None
    rows = pa.table({"id": [f"e{at}" for at in range(len(ends["src"]))], **ends})
    deltas = {
        edge.table_key: TableDelta(edge, rows, place=lambda row: RecordPlace(row, row, "line", "f")),
        node.table_key: TableDelta(node, pa.table({"id": ["new"], "k": ["new"]})),
    }
    stored = Asked()
    found = list(check_new_ends(catalog, deltas, stored))
    return [(problem.property, problem.value, problem.place) for problem in found], stored.asked


def test_a_node_type_is_searched_once_for_both_ends_of_an_edge() -> None:
    found, asked = _check("Same", {"src": ["new", "old", "x"], "dst": ["y", "new", "x"]})
    assert [ids for _, ids in asked] == [["old", "x", "y"]]
    assert [item[:2] for item in found] == [("src", "x"), ("dst", "y"), ("dst", "x")]
    assert [item[2].at for item in found] == [2, 0, 2]


def test_each_of_two_node_types_is_searched_for_its_own_end() -> None:
    found, asked = _check("Other", {"src": ["new", "old", "x"], "dst": ["new", "old", "x"]})
    assert [ids for _, ids in asked] == [["old", "x"], ["new", "old", "x"]]
    assert [item[:2] for item in found] == [("src", "x"), ("dst", "new"), ("dst", "x")]


@pytest.mark.parametrize("stored", [3, 2_500])
def test_one_stored_id_among_thousands_of_loaded_ones_is_a_conflict(stored: int, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "A", "data": {"k": f"s{at}"}} for at in range(stored)], mode="append")
    many = [{"type": "A", "data": {"k": f"n{at}"}} for at in range(2_500)]
    again = {"type": "A", "data": {"k": "s2"}}
    with pytest.raises(og.KeyConflict, match="'s2' is stored") as raised:
        graph.load([*many[:1_200], again, *many[1_200:]], mode="append")
    assert raised.value.details["total"] == 1
    graph.load(many, mode="append")
    edges = [{"edge": "Same", "from": f"n{at}", "to": f"s{at % 3}", "data": {}} for at in range(2_500)]
    with pytest.raises(og.ValidationError, match="dst 'n2500' not found in A") as raised:
        graph.load([*edges, {"edge": "Same", "from": "s1", "to": "n2500", "data": {}}], mode="append")
    assert raised.value.details["total"] == 1
    assert graph.load(edges, mode="append").rows == 2_500
