"""Types of properties as types of Spark: without a session, and without Java."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql.types import DecimalType, IntegerType, LongType, StringType, StructField, StructType

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.pipeline.spark_types import (
    check_columns_fit,
    select_columns,
    spark_batches,
    spark_schema,
    spark_type,
)

CATALOG = compile_schema(
    "node Person { name: String @key  age: I32?  size: U64?  tags: [String]?  seen: DateTime? }\n"
    "edge Knows: Person -> Person { since: Date? }\n"
)
PERSON, KNOWS = CATALOG.node("Person"), CATALOG.edge("Knows")
assert PERSON is not None and KNOWS is not None


@pytest.mark.parametrize("scalar", list(Scalar))
def test_every_type_of_a_property_has_one_of_spark(scalar: Scalar) -> None:
    assert spark_type(PropertyType(scalar)).simpleString() != ""


def test_a_number_without_a_sign_is_one_that_holds_it() -> None:
    assert spark_type(PropertyType(Scalar.U32)) == LongType()
    assert spark_type(PropertyType(Scalar.U64)) == DecimalType(20, 0)


def test_a_type_is_its_id_its_ends_and_its_properties() -> None:
    assert spark_schema(PERSON).fieldNames() == ["id", *(item.name for item in PERSON.properties)]
    assert spark_schema(KNOWS).fieldNames() == ["id", "from", "to", "since"]
    assert [item.nullable for item in spark_schema(KNOWS).fields] == [False, False, False, True]


def test_columns_come_in_the_order_asked_for() -> None:
    assert select_columns(spark_schema(PERSON), [" age ", "", "id"]).fieldNames() == ["age", "id"]


@pytest.mark.parametrize(("names", "message"), [(["aeg"], "no column 'aeg'"), (["id", "id"], "named twice")])
def test_columns_that_cannot_be_chosen_are_named(names: list[str], message: str) -> None:
    with pytest.raises(og.BadInput, match=message):
        select_columns(spark_schema(PERSON), names)


def test_a_schema_of_the_caller_must_have_the_right_types() -> None:
    whole = spark_schema(PERSON)
    assert check_columns_fit(StructType([StructField("age", IntegerType())]), whole) is None
    with pytest.raises(og.BadInput, match="'age' is int, not string"):
        check_columns_fit(StructType([StructField("age", StringType())]), whole)


def test_rows_are_cast_to_exactly_what_spark_expects() -> None:
    schema = select_columns(spark_schema(PERSON), ["size", "seen"])
    at = datetime(2026, 1, 2, tzinfo=UTC)
    rows = pa.table(
        {"size": pa.array([2**64 - 1], pa.uint64()), "seen": pa.array([at], pa.timestamp("ms", "UTC"))}
    )
    (batch,) = spark_batches(rows, schema)
    assert batch.schema.names == ["size", "seen"]
    assert batch.schema.field("size").type == pa.decimal128(20, 0)
    assert batch.to_pylist() == [{"size": Decimal(2**64 - 1), "seen": at}]
