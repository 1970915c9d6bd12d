"""What the plan says storage can answer is what the filters of storage are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import Property
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.values import (
    Constant,
    EdgeEnd,
    End,
    EntityId,
    Now,
    Parameter,
    PropertyValue,
    Value,
)
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.local.pushdown import MAX_VALUES_IN_FILTER, as_filter
from omnigraph.execution.plan.pushable import columns_to_push
from omnigraph.graph.model.columns import arrow_type
from omnigraph.storage import filters

NODE = compile_schema(
    """
    node N { s: String?  e: enum(a, b)?  b: Bool?  i: I32?  l: I64?  u: U32?  w: U64?  f: F32?  g: F64?
             d: Date?  t: DateTime?  tags: [String]?  v: Vector(2)? }
    """
).node("N")
assert NODE is not None
PROPERTIES = {item.name: item for item in NODE.properties}
EXACT: dict[Scalar, list[Any]] = {
    Scalar.STRING: ["", "a"],
    Scalar.BOOL: [True, False],
    Scalar.I32: [0, -(2**31), 2**31 - 1],
    Scalar.I64: [-(2**63), 2**63 - 1],
    Scalar.U32: [0, 2**32 - 1],
    Scalar.U64: [2**64 - 1],
    Scalar.F32: [0.5, 3],
    Scalar.F64: [0.1, 2**53],
    Scalar.DATE: [-1, 19_782],
    Scalar.DATETIME: [-1, 2**53],
}
"""Constants that are exactly values of a type."""
STRANGE = [None, 2**31, -1, 2**64, 0, 0.0, -0.0, 0.1, 1.5, 1e300, 2**53 + 1, True, "a", (), ("a",)]


def stored(item: Property) -> PropertyValue:
    return PropertyValue(0, item)


def constant(value: Any, type_: PropertyType, is_list: bool = False) -> Constant:
    return Constant(value, replace(type_, is_list=is_list))


@st.composite
def leaves(draw: st.DrawFn, exact: bool) -> ir.Condition:
    """Draw a condition on one value; `exact` draws only what storage can be asked."""
    plain = [item for item in PROPERTIES.values() if item.type.is_plain]
    item = draw(st.sampled_from(plain if exact else list(PROPERTIES.values())))
    values = EXACT[item.type.scalar] if exact else [*STRANGE, *EXACT[item.type.scalar]]
    value: Value = draw(st.sampled_from([stored(item), EntityId(0)])) if not exact else stored(item)
    members = draw(st.lists(st.sampled_from(values), min_size=1 if exact else 0, max_size=3))
    chosen = constant(draw(st.sampled_from(values)), item.type)
    comparator = draw(st.sampled_from(ir.Comparator))
    found: list[ir.Condition] = [
        ir.IsNull(value),
        ir.ListContains(constant(tuple(members), item.type, is_list=True), value),
        ir.Compare(comparator, value, chosen),
        ir.Compare(comparator, chosen, value),
    ]
    if not exact:
        found += [
            ir.Compare(comparator, chosen, chosen),
            ir.Compare(comparator, value, value),
            ir.Compare(comparator, EdgeEnd(0, End.SOURCE), chosen),
            ir.ListContains(value, chosen),
            ir.TextContains(value, chosen),
            ir.TextStartsWith(value, chosen),
        ]
    return draw(st.sampled_from(found))


def conditions(exact: bool) -> st.SearchStrategy[ir.Condition]:
    """Return conditions that are built from leaves."""
    return st.recursive(
        leaves(exact),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda terms: ir.All(tuple(terms))),
            st.lists(inner, min_size=1 if exact else 0, max_size=3).map(lambda terms: ir.Any(tuple(terms))),
            inner.map(ir.Not),
        ),
        max_leaves=4,
    )


def leaves_of(filter: filters.Filter) -> list[Any]:
    match filter:
        case filters.AllOf(parts) | filters.AnyOf(parts):
            return [leaf for part in parts for leaf in leaves_of(part)]
        case filters.Negated(inner):
            return leaves_of(inner)
    return [filter]


@given(conditions(exact=False))
def test_a_filter_looks_at_the_columns_that_the_plan_says(condition: ir.Condition) -> None:
    filter = as_filter(condition)
    if filter is not None:
        assert {leaf.column for leaf in leaves_of(filter)} == columns_to_push(condition)


@given(conditions(exact=True))
def test_what_the_plan_says_storage_answers_becomes_a_filter(condition: ir.Condition) -> None:
    assert columns_to_push(condition) is not None
    filter = as_filter(condition)
    assert filter is not None
    for leaf in leaves_of(filter):
        if not isinstance(leaf, filters.NullColumn):
            values = leaf.value if isinstance(leaf, filters.ComparedColumn) else leaf.values
            assert values.type == arrow_type(PROPERTIES[leaf.column].type)


@pytest.mark.parametrize(
    ("name", "value"),
    [("i", 2**31), ("i", 1.0), ("i", True), ("u", -1), ("f", 0.1), ("g", 0.0), ("g", 2**53 + 1), ("s", None)],
)
def test_a_value_that_is_not_exactly_one_of_the_column_is_not_pushed(name: str, value: Any) -> None:
    type_ = PROPERTIES[name].type
    left = stored(PROPERTIES[name])
    assert as_filter(ir.Compare(ir.Comparator.EQ, left, Constant(value, type_))) is None
    assert as_filter(ir.ListContains(Constant((value,), replace(type_, is_list=True)), left)) is None


def test_values_before_they_are_bound_are_planned_as_constants_are() -> None:
    left = stored(PROPERTIES["t"])
    for given_ in (Now(), Parameter("p", PROPERTIES["t"].type)):
        assert columns_to_push(ir.Compare(ir.Comparator.LT, given_, left)) == {"t"}


def test_a_comparison_is_mirrored_when_its_value_stands_first() -> None:
    left, right = Constant(3, PROPERTIES["i"].type), stored(PROPERTIES["i"])
    expected = filters.ComparedColumn("i", ">", pa.scalar(3, pa.int32()))
    assert as_filter(ir.Compare(ir.Comparator.LT, left, right)) == expected


def test_a_long_list_stands_alone() -> None:
    type_ = replace(PROPERTIES["i"].type, is_list=True)
    many = ir.ListContains(Constant(tuple(range(MAX_VALUES_IN_FILTER + 1)), type_), stored(PROPERTIES["i"]))
    assert as_filter(many) is not None
    assert as_filter(ir.Not(many)) is None
    assert as_filter(ir.Any((many, ir.IsNull(EntityId(0))))) is None
