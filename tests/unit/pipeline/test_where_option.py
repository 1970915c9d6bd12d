"""Conditions that come as JSON are filters of storage, or are refused with the form that they should have."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema
from omnigraph.pipeline.steps.where_option import filters_of
from omnigraph.storage.filters import ComparedColumn, Filter, NullColumn, OneOf

CATALOG = compile_schema(
    "node Person { name: String @key  age: I32?  born: Date?  tags: [String]?  vec: Vector(3)? }\n"
    "edge Knows: Person -> Person { since: Date? }\n"
)
PERSON, KNOWS = CATALOG.node("Person"), CATALOG.edge("Knows")


def _filters(table: Any, *conditions: Any) -> tuple[Filter, ...]:
    return filters_of(table, json.dumps(conditions))


def test_every_form_of_condition_is_a_filter_of_the_column_s_type() -> None:
    older, some, none = _filters(
        PERSON, ["age", ">=", 30], ["name", "in", ["ada", "bob"]], ["born", "is null"]
    )
    assert isinstance(older, ComparedColumn) and isinstance(some, OneOf)
    assert (older.column, older.operator, older.value) == ("age", ">=", pa.scalar(30, pa.int32()))
    assert (some.column, some.values.to_pylist()) == ("name", ["ada", "bob"])
    assert none == NullColumn("born")


def test_the_ends_of_an_edge_are_columns_of_edges_alone() -> None:
    (start,) = _filters(KNOWS, ["from", "=", "ada"])
    assert isinstance(start, ComparedColumn) and start.column == "src"
    with pytest.raises(og.BadInput, match="has no property 'from'"):
        _filters(PERSON, ["from", "=", "ada"])


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (["aeg", "=", 3], "age"),
        (["age", "~", 3], "'~' is not an operator"),
        (["age", "=", "x"], "the value of age"),
        (["born", ">", "yesterday"], "the value of born"),
        (["tags", "=", "x"], "cannot be filtered by"),
        (["vec", "is null"], "cannot be filtered by"),
        (["age", "in", 3], "'in' is not an operator"),
    ],
)
def test_a_condition_that_cannot_be_is_told(condition: list[Any], message: str) -> None:
    with pytest.raises(og.BadInput, match=message):
        _filters(PERSON, condition)


@pytest.mark.parametrize("text", ["", "{", "3", '{"age": 3}', '["age"]', '[["age"]]', '[["age", "=", 1, 2]]',
                                  '[[3, "=", 1]]', '[["age", "is null", 1]]'])  # fmt: skip
def test_what_is_not_a_list_of_conditions_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(og.BadInput, match=r'write it as JSON: \[\["age", ">=", 30\]'):
        filters_of(PERSON, text)
