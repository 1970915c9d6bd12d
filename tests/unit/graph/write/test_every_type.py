"""Tables that hold a property of any type can be written in every way: filters are about other columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.integrity_oracle import assert_integrity
from support.stored_graph import read_back

VALUES: dict[str, Any] = {
    "String": "a", "Bool": True, "I32": 1, "I64": 1, "U32": 1, "U64": 1, "F32": 0.5, "F64": 0.5,
    "Date": "2024-01-01", "DateTime": "2024-01-01T01:02:03Z", "Blob": "base64:AAE=", "Vector(2)": [1, 2],
    "enum(a, b)": "a", "[String]": ["a", "b"], "[Bool]": [True], "[I32]": [1], "[I64]": [1], "[U32]": [1],
    "[U64]": [2**63 - 1], "[F32]": [0.5], "[F64]": [0.5], "[Date]": ["2024-01-01"],
    "[DateTime]": ["2024-01-01T01:02:03Z"],
}  # fmt: skip


@pytest.mark.parametrize("type_", VALUES)
def test_a_property_of_any_type_stands_in_no_write_s_way(type_: str, tmp_path: Path) -> None:
    schema = f"node A {{ k: String @key  x: {type_}?  n: I32? }}\nedge E: A -> A {{ x: {type_}? }}\n"
    graph = og.init(tmp_path / "graph", schema)
    value = VALUES[type_]
    graph.load(
        [{"type": "A", "data": {"k": f"k{at}", "x": value, "n": at}} for at in range(20)]
        + [{"edge": "E", "from": f"k{at}", "to": "k0", "data": {"x": value}} for at in range(20)],
        mode="append",
    )
    graph = og.open(tmp_path / "graph")  # which remembers nothing of what was written
    graph.mutate('query q() { insert A { k: "new" } insert E { from: "new" to: "k5" } }')
    graph.mutate('query q() { update A set { n: 77 } where k = "k1"  update A set { n: 78 } where n = 77 }')
    graph.mutate('query q() { update E set { x: $x } where from = "k7" }'.replace("$x", "$v").replace(
        "q()", f"q($v: {_parameter(type_)})"), {"v": value})  # fmt: skip
    done = graph.mutate('query q() { delete A where k = "k0" }')
    assert (done.affected_nodes, done.affected_edges) == (1, 20)
    graph.load([{"type": "A", "data": {"k": "k2", "x": value}}], mode="merge")
    with pytest.raises(og.KeyConflict):
        graph.load([{"type": "A", "data": {"k": "k3", "x": value}}], mode="append")
    graph.schema.apply(schema.replace("n: I32?", "n: I64?  m: I64 @default(4)"))
    rows = read_back(graph.snapshot()).nodes["A"]
    assert len(rows) == 20
    assert {name: row["n"] for name, row in rows.items() if name in ("new", "k1", "k2")} == {
        "new": None, "k1": 78, "k2": None,
    }  # fmt: skip
    assert type_ == "Blob" or rows["k1"]["x"] == rows["k9"]["x"] is not None


@pytest.mark.parametrize("type_", VALUES)
def test_branches_merges_compaction_and_schema_changes_follow_writes_beside_any_type(
    type_: str, tmp_path: Path
) -> None:
    node = f"node A {{ k: String @key  n: I32  x: {type_}? {_indexed(type_)} }}"
    schema = f"{node}\nedge E: A -> A {{ x: {type_}? }}\n"
    graph = og.init(tmp_path / "graph", schema)
    value = VALUES[type_]
    graph.load([_node(at, value) for at in range(6)] + [_edge(0, 1, value)], mode="append")
    graph.load([_edge(1, 2, value), _edge(2, 0, value)], mode="append")
    graph.branches.create("dev")
    graph.load([_node(6, value), _edge(6, 3, value)], mode="append", branch="dev")
    graph.load([_node(1, value, n=71)], mode="merge", branch="dev")
    graph.mutate("query q() { delete A where n = 4 }", branch="dev")
    graph.mutate('query q() { update A set { n: 75 } where k = "k5" }')
    assert graph.branches.merge("dev").outcome == "merged"
    graph.optimize()
    graph = og.open(tmp_path / "graph")
    graph.load([_node(7, value), _edge(7, 0, value)], mode="append")
    renamed = f'z: {type_}?  y: {type_}? @rename_from("x")'
    graph.schema.apply(schema.replace(f"x: {type_}?", renamed, 1))
    graph.load([_edge(5, 6, value)], mode="append")
    graph.load([{"type": "A", "data": {"k": "k3", "y": value, "z": value, "n": 3}}], mode="merge")
    assert graph.mutate('query q() { delete A where k = "k0" }').affected_edges == 3
    graph.optimize()
    graph.mutate("query q() { delete A where n = 71 }")
    stored = assert_integrity(og.open(tmp_path / "graph").snapshot())
    rows = stored.nodes["A"]
    assert {name: row["n"] for name, row in rows.items()} == {"k2": 2, "k3": 3, "k5": 75, "k6": 6, "k7": 7}
    assert {(edge.source, edge.target) for edge in stored.edges["E"].values()} == {("k6", "k3"), ("k5", "k6")}
    assert all(row["y"] is not None for row in rows.values())
    assert [name for name, row in rows.items() if row["z"] is not None] == ["k3"]


@pytest.mark.parametrize(
    "type_", [name for name in VALUES if name[0] != "[" and name not in ("Blob", "Vector(2)")]
)
def test_rows_are_found_by_a_property_of_any_type_that_compares(type_: str, tmp_path: Path) -> None:
    schema = f"node A {{ k: String @key  x: {type_}? @index  n: I32 }}\nedge E: A -> A {{ x: {type_}? }}\n"
    graph = og.init(tmp_path / "graph", schema)
    value, given = VALUES[type_], f"$v: {_parameter(type_)}"
    nodes = [_node(0, value), _node(1, value), _node(2, None), _node(3, value)]
    graph.load([*nodes, _edge(0, 2, value), _edge(2, 3, None)], mode="append")
    assert graph.mutate(f"query q({given}) {{ delete E where x = $v }}", {"v": value}).affected_edges == 1
    graph.optimize()
    graph.load([_edge(1, 2, value)], mode="append")
    done = graph.mutate(f"query q({given}) {{ update A set {{ n: 9 }} where x = $v }}", {"v": value})
    assert done.affected_nodes == 3
    found = graph.query(
        f"query q({given}) {{ match {{ $a: A  $a.x = $v }} return {{ $a.n as n }} }}", {"v": value}
    )
    assert found.rows == [{"n": 9}] * 3
    done = graph.mutate(f"query q({given}) {{ delete A where x = $v }}", {"v": value})
    assert (done.affected_nodes, done.affected_edges) == (3, 2)
    assert list(assert_integrity(graph.snapshot()).nodes["A"]) == ["k2"]


def _node(at: int, value: Any, n: int | None = None) -> dict[str, Any]:
    return {"type": "A", "data": {"k": f"k{at}", "x": value, "n": at if n is None else n}}


def _edge(source: int, target: int, value: Any) -> dict[str, Any]:
    return {"edge": "E", "from": f"k{source}", "to": f"k{target}", "data": {"x": value}}


def _indexed(type_: str) -> str:
    return "" if type_[0] == "[" or type_ == "Blob" else "@index"


def _parameter(type_: str) -> str:
    return "String" if type_.startswith("enum") else type_
