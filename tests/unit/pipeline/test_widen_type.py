"""Columns that become properties: what Spark takes for one name must not become two."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StructField, StructType

import omnigraph as og
from omnigraph.pipeline.jobs.widen_type import widen_type
from omnigraph.pipeline.sql.new_types import type_text


def columns(*names: str) -> StructType:
    return StructType([StructField(name, LongType()) for name in names])


@pytest.mark.parametrize(
    ("names", "wrong"), [(("nr", "aGe"), "aGe is age"), (("nr", "new", "nEw"), "nEw is new")]
)
def test_a_column_in_other_letters_is_no_new_property(
    tmp_path: Path, names: tuple[str, ...], wrong: str
) -> None:
    graph = og.init(tmp_path / "graph", "node Person { nr: I64 @key  age: I64? }\n")
    table = graph.catalog_at(graph.internals.read_state().head.schema).node("Person")
    assert table is not None
    with pytest.raises(og.BadInput, match=f"the column {wrong} in other letters"):
        widen_type(graph, table, columns(*names), {})
    assert not widen_type(graph, table, columns("nr", "aGe"), {"aGe": "age"})
    assert widen_type(graph, table, columns("nr", "height"), {})
    assert "height: I64?" in graph.schema.source


@pytest.mark.parametrize("name", ["first name", "a: String? b", "x // y", "Age", "2x", ""])
def test_a_column_that_is_no_name_of_a_property_adds_nothing(tmp_path: Path, name: str) -> None:
    graph = og.init(tmp_path / "graph", "node Person { nr: I64 @key }\n")
    table = graph.catalog_at(graph.internals.read_state().head.schema).node("Person")
    assert table is not None
    before = graph.schema.source
    with pytest.raises(og.BadInput, match="cannot be a property"):
        widen_type(graph, table, columns("nr", name), {})
    assert graph.schema.source == before
    assert widen_type(graph, table, columns("nr", name), {name: "given"})
    with pytest.raises(og.BadInput, match="cannot be a property"):
        type_text("City", columns(name), {})


def test_a_table_that_is_no_name_of_a_type_is_not_created() -> None:
    for name in ("city", "we ird", "A { x: String } node B", "C:"):
        with pytest.raises(og.BadInput, match="cannot be a type"):
            type_text(name, columns("nr"), {})
        with pytest.raises(og.BadInput, match="cannot be a type"):
            type_text("Knows", columns("nr"), {"from": "City", "to": name})
    assert type_text("Knows", columns("nr"), {"from": "City", "to": "City"}).startswith(
        "edge Knows: City -> City"
    )
