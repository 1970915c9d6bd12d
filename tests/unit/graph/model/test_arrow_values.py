"""Plain values to Arrow and back: every type, NULLs, times of day, slices and chunks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.model.arrow_values import rows_to_arrow, rows_to_plain, to_arrow, to_plain
from omnigraph.graph.model.bulk_ids import mint_ids

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "String": st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    "Bool": st.booleans(),
    "I32": st.integers(-(2**31), 2**31 - 1),
    "I64": st.integers(-(2**63), 2**63 - 1),
    "U32": st.integers(0, 2**32 - 1),
    "U64": st.integers(0, 2**64 - 1),
    "F32": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "F64": st.floats(allow_nan=False, allow_infinity=False),
    "Date": st.integers(-(2**31), 2**31 - 1),
    "DateTime": st.integers(-(2**63), 2**63 - 1),
}
TYPES = [*VALUES, *(f"[{name}]" for name in VALUES), "Vector(3)"]
_NODE = compile_schema(
    "node A { " + "  ".join(f"p{at}: {name}?" for at, name in enumerate(TYPES)) + " }"
).node("A")
assert _NODE is not None
NODE: NodeType = _NODE


def values_of(name: str) -> st.SearchStrategy[Any]:
    """Return what a nullable property of a type can hold."""
    if name == "Vector(3)":
        return st.none() | st.tuples(VALUES["F32"], VALUES["F32"], VALUES["F32"])
    if name.startswith("["):
        return st.none() | st.lists(VALUES[name[1:-1]], max_size=3).map(tuple)
    return st.none() | VALUES[name]


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_values_come_back_as_they_were(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(values_of(name), max_size=8))
    type_ = NODE.by_name[f"p{TYPES.index(name)}"].type
    array = to_arrow(values, type_)
    assert repr(to_plain(array, type_)) == repr(values)
    begin = data.draw(st.integers(0, len(values)))
    length = data.draw(st.integers(0, len(values)))
    assert repr(to_plain(array.slice(begin, length), type_)) == repr(values[begin : begin + length])
    chunked = pa.chunked_array([array.slice(0, begin), array.slice(begin)], array.type)
    assert repr(to_plain(chunked, type_)) == repr(values)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_whole_rows_come_back_as_they_were(data: st.DataObject) -> None:
    rows = [
        {"id": str(at), **{f"p{place}": data.draw(values_of(name)) for place, name in enumerate(TYPES)}}
        for at in range(data.draw(st.integers(0, 3)))
    ]
    table = rows_to_arrow(NODE, rows)
    assert {repr(sorted(row.items())) for row in rows_to_plain(NODE, table)} == {
        repr(sorted(row.items())) for row in rows
    }


def test_minted_ids_are_different_well_formed_and_of_their_moment() -> None:
    ids = [id_ for count in (0, 1, 7, 100_000) for id_ in mint_ids(count).to_pylist()]
    assert len(set(ids)) == len(ids) == 100_008
    assert all(len(id_) == 26 and set(id_) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for id_ in ids)
    assert len({id_[:6] for id_ in ids}) == 1
