"""Conditions over columns against plain loops: exact numbers, three-valued logic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.conditions import Comparator
from omnigraph.compiler.ir.values import Constant, PropertyValue
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.execution.conditions import evaluate
from omnigraph.graph.model.arrow_values import rows_to_arrow
from support.reference import compare, exact

TYPES = ("I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "String", "Bool")
_NODE = compile_schema(
    "node A { " + "  ".join(f"p{name.lower()}: {name}?  l{name.lower()}: [{name}]?" for name in TYPES) + " }"
).node("A")
assert _NODE is not None
NODE: NodeType = _NODE
PLAIN = PropertyType(Scalar.I64)

EDGES = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**32, 2**53 - 1, 2**53, 2**53 + 1,
         2**53 + 2, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**400,
         -(10**400)]  # fmt: skip
FRACTIONS = [0.0, -0.0, 0.5, -0.5, 0.1, 1.5, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64, 1e300,
             -1e300,
             3.4028234663852886e38, 1e-320, 2147483647.5, 4294967295.5, -2147483648.5]  # fmt: skip
numbers = st.one_of(
    st.sampled_from(EDGES), st.sampled_from(FRACTIONS), st.integers(-(2**65), 2**65), st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
LIMITS = {"I32": (-(2**31), 2**31 - 1), "I64": (-(2**63), 2**63 - 1), "U32": (0, 2**32 - 1),
          "U64": (0, 2**64 - 1), "Date": (-(2**31), 2**31 - 1),
          "DateTime": (-(2**63), 2**63 - 1)}  # fmt: skip


def stored(name: str) -> st.SearchStrategy[Any]:
    """Return values that a column of a type can hold."""
    if name in LIMITS:
        low, high = LIMITS[name]
        inside = [value for value in EDGES if low <= value <= high]
        return st.one_of(st.sampled_from(inside), st.integers(low, high))
    if name == "F32":
        return st.one_of(
            st.floats(width=32, allow_nan=False, allow_infinity=False),
            st.sampled_from([round_f32(value) for value in FRACTIONS if abs(value) < 3.5e38]),
        )
    if name == "F64":
        return st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(FRACTIONS))
    if name == "Bool":
        return st.booleans()
    return st.text(st.sampled_from("aAbéß€𝄞%_\\\x00"), max_size=3)


def constant(name: str) -> st.SearchStrategy[Any]:
    """Return values that a column of a type may be compared with."""
    if name in ("Date", "DateTime"):
        return st.one_of(st.none(), stored(name), st.integers(-(2**63), 2**63 - 1))
    return st.one_of(st.none(), numbers, stored(name)) if name in LIMITS or name[0] == "F" else st.one_of(
        st.none(), stored(name)
    )  # fmt: skip


def rows_with(name: str, values: list[Any]) -> pa.Table:
    """Return rows whose one property has these values."""
    empty = {item.name: None for item in NODE.properties}
    return rows_to_arrow(NODE, [{**empty, name: value, "id": str(at)} for at, value in enumerate(values)])


def column(name: str) -> PropertyValue:
    """Return the value of a property of the row."""
    return PropertyValue(0, NODE.by_name[name])


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_column_is_compared_by_value(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), stored(name)), min_size=1, max_size=8))
    given_value = data.draw(st.one_of(constant(name), st.sampled_from(values)))
    property_ = f"p{name.lower()}"
    rows = rows_with(property_, values)
    written = Constant(given_value, PLAIN)
    for comparator in Comparator:
        expected = [compare(comparator, value, given_value) for value in values]
        assert evaluate(ir.Compare(comparator, column(property_), written), rows).to_pylist() == expected
        mirrored = [compare(comparator, given_value, value) for value in values]
        assert evaluate(ir.Compare(comparator, written, column(property_)), rows).to_pylist() == mirrored


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_list_contains_what_equals_a_member(name: str, data: st.DataObject) -> None:
    lists = data.draw(
        st.lists(st.one_of(st.none(), st.lists(stored(name), max_size=3).map(tuple)), min_size=1, max_size=5)
    )
    inside = [member for members in lists if members for member in members]
    item = data.draw(st.one_of(constant(name), st.sampled_from(inside)) if inside else constant(name))
    rows = rows_with(f"l{name.lower()}", lists)
    condition = ir.ListContains(column(f"l{name.lower()}"), Constant(item, PLAIN))
    expected = [
        None if members is None or item is None else any(exact(one) == exact(item) for one in members)
        for members in lists
    ]
    assert evaluate(condition, rows).to_pylist() == expected


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    values=st.lists(st.one_of(st.none(), stored("String")), min_size=1, max_size=6),
    part=st.one_of(st.none(), stored("String")),
)
def test_texts_are_searched_literally(values: list[str | None], part: str | None) -> None:
    rows, needle = rows_with("pstring", values), Constant(part, PLAIN)
    contains = evaluate(ir.TextContains(column("pstring"), needle), rows).to_pylist()
    starts = evaluate(ir.TextStartsWith(column("pstring"), needle), rows).to_pylist()
    assert contains == [None if one is None or part is None else part in one for one in values]
    assert starts == [None if one is None or part is None else one.startswith(part) for one in values]


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> ir.Condition:
    """Draw a condition over an I32 and an F32 property."""
    kind = draw(st.integers(0, 5)) if depth else draw(st.integers(0, 1))
    if kind == 0:
        return ir.IsNull(column(draw(st.sampled_from(["pi32", "pf32"]))))
    if kind == 1:
        literal = Constant(draw(st.one_of(st.none(), st.sampled_from([0, 1, 0.5, 2**40]))), PLAIN)
        return ir.Compare(
            draw(st.sampled_from(list(Comparator))), column(draw(st.sampled_from(["pi32", "pf32"]))), literal
        )
    if kind == 2:
        return ir.Not(draw(conditions(depth - 1)))
    terms = tuple(draw(st.lists(conditions(depth - 1), max_size=3)))
    return ir.All(terms) if kind in (3, 4) else ir.Any(terms)


def truth(node: ir.Condition, row: dict[str, Any]) -> bool | None:
    """Return what a condition says of one row."""
    match node:
        case ir.IsNull():
            return row[node.value.declared.name] is None  # type: ignore[union-attr]
        case ir.Compare():
            return compare(node.comparator, row[node.left.declared.name], node.right.value)  # type: ignore[union-attr]
        case ir.Not():
            inner = truth(node.term, row)
            return None if inner is None else not inner
        case ir.All():
            terms = [truth(term, row) for term in node.terms]
            return False if False in terms else None if None in terms else True
        case ir.Any():
            terms = [truth(term, row) for term in node.terms]
            return True if True in terms else None if None in terms else False
    raise AssertionError(node)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    condition=conditions(),
    pairs=st.lists(
        st.tuples(st.sampled_from([None, 0, 1, 7]), st.sampled_from([None, 0.0, 0.5, 1.0])),
        min_size=1,
        max_size=6,
    ),
)
def test_unknown_spreads_as_in_three_valued_logic(
    condition: ir.Condition, pairs: list[tuple[Any, Any]]
) -> None:
    empty = {item.name: None for item in NODE.properties}
    plain = [{**empty, "pi32": a, "pf32": b, "id": str(at)} for at, (a, b) in enumerate(pairs)]
    expected = [truth(condition, row) for row in plain]
    assert evaluate(condition, rows_to_arrow(NODE, plain)).to_pylist() == expected


def test_the_types_are_nullable_so_that_null_is_tried() -> None:
    assert all(item.type == replace(item.type, nullable=True) for item in NODE.properties)
