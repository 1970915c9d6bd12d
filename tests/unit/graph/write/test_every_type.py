"""Tables that hold a property of any type can be written in every way: filters are about other columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
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


def _parameter(type_: str) -> str:
    return "String" if type_.startswith("enum") else type_
