"""Stored rows as JSON data: a column at once says what its values say one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.values.results import to_json
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.json_rows import properties_of

_NODE = compile_schema("node A { vec: Vector(2)? }").node("A")
assert isinstance(_NODE, NodeType)
NODE = _NODE
TYPE = NODE.by_name["vec"].type
_member = st.floats(width=32) | st.sampled_from([0.1, -0.0, float("nan"), float("inf")])
_vectors = st.lists(st.none() | st.tuples(_member, _member), max_size=6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(values=_vectors, cut=st.integers(0, 6), begin=st.integers(0, 6))
def test_vectors_are_told_as_their_members_are(
    values: list[tuple[float, float] | None], cut: int, begin: int
) -> None:
    array = pa.array(values, pa.list_(pa.float32(), 2))
    column = pa.chunked_array([array.slice(0, cut), array.slice(cut).slice(begin)], array.type)
    told = [row["vec"] for row in properties_of(NODE, pa.table({"vec": column}))]
    expected: list[Any] = [to_json(value, TYPE) for value in to_plain(column, TYPE)]
    assert repr(told) == repr(expected)
