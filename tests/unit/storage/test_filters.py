"""A filter finds exactly the rows that it says, for every type of value, said to Lance or compared here."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from omnigraph.storage import filters
from omnigraph.storage.filters import ComparedColumn, NullColumn, OneOf, Operator, as_sql, read_filtered
from omnigraph.storage.indexes.indexes import IndexKind
from omnigraph.storage.objects import open_store
from omnigraph.storage.rows.search import nearest
from omnigraph.storage.tables.staging import StagedTable
from omnigraph.storage.tables.table import Table
from support.lance_tables import TABLE, PinnedFolder

TEXTS = ["", "a", "A", "a'b", "''", "'", "\\", "\\'", "a\\b", '"a"', "`", "%", "_", "-- no", "/*", "$1", "?",
         ";", "a\nb", "a\tb", "a\x00b", "\x00", "é", "e\u0301", "ß", "\U0001f600", "\u2028", "\ufeff", " a",
         "a ", "'); DROP TABLE t; --", "' OR '1'='1", "null", "x" * 5000]  # fmt: skip
MOMENTS = [0, 1, -1, 86_400_000, 1_709_210_096_123, -62_135_596_800_000, 253_402_300_799_999, -(2**53)]
VALUES: dict[str, pa.Array] = {
    "string": pa.array(TEXTS),
    "bool": pa.array([True, False]),
    "int32": pa.array([0, 1, -1, 2**31 - 1, -(2**31)], pa.int32()),
    "int64": pa.array([0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 1 - 2**63]),
    "uint32": pa.array([0, 1, 2**31, 2**32 - 1], pa.uint32()),
    "uint64": pa.array([0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
    "float32": pa.array([0.0, 0.1, -1.5, 1e-45, 3.4028234663852886e38, math.inf, -math.inf], pa.float32()),
    "float64": pa.array([0.0, 0.1, 0.1 + 0.2, -1e16, 5e-324, 1.7976931348623157e308, math.inf, -math.inf]),
    "date32": pa.array([0, 1, -1, 20_000, -719_162, 2_932_896], pa.int32()).view(pa.date32()),
    "date64": pa.array(MOMENTS, pa.int64()).view(pa.date64()),
}
PLAIN = {"date32": pa.int32(), "date64": pa.int64()}

OPERATORS: dict[Operator, Any] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


@pytest.fixture(params=VALUES)
def name(request: pytest.FixtureRequest) -> str:
    """A type of values."""
    return str(request.param)


@pytest.fixture(params=["read", "indexed"])
def dataset(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A row for each value and one without, beside lists of what Substrait cannot say."""
    values = pa.concat_arrays([VALUES[name], pa.nulls(1, VALUES[name].type)])
    many = len(values)
    table = pa.table(
        {
            "lists": pa.array([[1]] * many, pa.list_(pa.uint32())),
            "moments": pa.array([[]] * many, pa.list_(pa.date64())),
            "Value": values,
            "row": range(many),
        }
    )
    found = lance.write_dataset(table, str(tmp_path / "t"), enable_stable_row_ids=True)
    if request.param == "indexed":
        found.create_scalar_index("Value", "BTREE")
    return found


def _rows(found: pa.Table) -> list[int]:
    return sorted(found["row"].to_pylist())


@pytest.fixture(params=["said", "compared here"])
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whether Lance is told a list of values, or the column is read and compared here."""
    if request.param == "compared here":
        monkeypatch.setattr(filters, "_MAX_VALUES_ALWAYS_GIVEN", 0)
        monkeypatch.setattr(filters, "_MAX_STATED_VALUES", 0)
    yield


@pytest.mark.usefixtures("asked")
def test_a_value_is_found_alone_and_in_a_list(name: str, dataset: Any) -> None:
    values = VALUES[name]
    for place in range(len(values)):
        assert _rows(read_filtered(dataset, ["row"], OneOf("Value", values.slice(place, 1)))) == [place]
    every = list(range(len(values)))
    assert _rows(read_filtered(dataset, ["row"], OneOf("Value", values))) == every
    assert _rows(read_filtered(dataset, ["row"], OneOf("Value", pa.chunked_array([values, values])))) == every
    assert _rows(read_filtered(dataset, ["row"], OneOf("Value", values.slice(1)))) == every[1:]


@pytest.mark.usefixtures("asked")
def test_null_is_in_no_list_and_an_empty_list_finds_nothing(name: str, dataset: Any) -> None:
    values = VALUES[name]
    with_null = pa.concat_arrays([values.slice(0, 1), pa.nulls(2, values.type)])
    assert _rows(read_filtered(dataset, ["row"], OneOf("Value", with_null))) == [0]
    for nothing in (values.slice(0, 0), pa.nulls(1, values.type)):
        assert read_filtered(dataset, ["row"], OneOf("Value", nothing)).num_rows == 0
    assert _rows(read_filtered(dataset, ["row"], NullColumn("Value"))) == [len(values)]


@pytest.mark.usefixtures("asked")
def test_the_columns_are_those_that_were_asked_for(dataset: Any) -> None:
    wanted = OneOf("row", pa.array([0]))
    assert read_filtered(dataset, [], wanted, with_row_id=True).schema.names == ["_rowid"]
    assert read_filtered(dataset, ["lists"], wanted).schema.names == ["lists"]
    assert read_filtered(dataset, ["row", "moments"], wanted).schema.names == ["row", "moments"]
    assert read_filtered(dataset, None, wanted).schema.names == dataset.schema.names


def test_a_value_compares_as_it_does_in_python(name: str, dataset: Any) -> None:
    values = VALUES[name]
    plain = values.view(PLAIN[name]).to_pylist() if name in PLAIN else values.to_pylist()
    for operator, holds in OPERATORS.items():
        for place, value in enumerate(plain):
            expected = [row for row, other in enumerate(plain) if holds(other, value)]
            found = read_filtered(dataset, ["row"], ComparedColumn("Value", operator, values[place]))
            assert _rows(found) == expected, (operator, value)
        assert (
            read_filtered(
                dataset, ["row"], ComparedColumn("Value", operator, pa.scalar(None, values.type))
            ).num_rows
            == 0
        )


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()], ids=str)
def test_both_zeros_are_one(type_: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"row": [0, 1, 2], "Value": pa.array([0.0, -0.0, 1.0], type_)})
    dataset = lance.write_dataset(table, str(tmp_path / "t"))
    for zero in (0.0, -0.0):
        for others in ([], [7.0, 8.0, 9.0, 10.0]):
            found = read_filtered(dataset, ["row"], OneOf("Value", pa.array([zero, *others], type_)))
            assert _rows(found) == [0, 1]


@pytest.mark.parametrize(("type_", "code"), [(pa.float32(), "f"), (pa.float64(), "d")], ids=["F32", "F64"])
def test_a_float_arrives_with_every_bit(type_: pa.DataType, code: str, tmp_path: Path) -> None:
    chance = random.Random(1)
    size = struct.calcsize(code)
    drawn = {struct.unpack(code, chance.randbytes(size))[0] for _ in range(1500)}
    values = pa.array(sorted(value for value in drawn if math.isfinite(value)), type_)
    dataset = lance.write_dataset(pa.table({"Value": values}), str(tmp_path / "t"))
    assert read_filtered(dataset, None, OneOf("Value", values))["Value"].combine_chunks().equals(values)


def test_an_index_answers_what_can_be_told_to_it(name: str, tmp_path: Path) -> None:
    values = VALUES[name]
    dataset = lance.write_dataset(pa.table({"Value": values}), str(tmp_path / "t"))
    dataset.create_scalar_index("Value", "BTREE")
    for wanted in (
        OneOf("Value", values.slice(0, 1)),
        OneOf("Value", values),
        ComparedColumn("Value", "=", values[0]),
    ):
        assert "ScalarIndexQuery" in dataset.scanner(filter=as_sql(wanted)).explain_plan()


def test_a_list_of_any_length_is_told_or_compared_with_the_same_result(tmp_path: Path) -> None:
    ids = pa.array([f"it's {number}" for number in range(120_000)])
    table = pa.table({"id": ids, "lists": pa.array([[1]] * len(ids), pa.list_(pa.uint64()))})
    dataset = lance.write_dataset(table, str(tmp_path / "t"), max_rows_per_file=50_000)
    for count in (1, 1_000, 2_001, 100_000, 110_000):
        wanted = OneOf("id", pa.concat_arrays([ids.slice(5, count), pa.array(["it's nothing", "it"])]))
        found = read_filtered(dataset, ["id"], wanted)["id"].combine_chunks()
        assert found.equals(ids.slice(5, count))


@pytest.mark.parametrize("type_", [pa.list_(pa.int64()), pa.list_(pa.float32(), 2), pa.binary()], ids=str)
def test_values_that_no_filter_compares_are_refused(type_: pa.DataType) -> None:
    with pytest.raises(TypeError, match="no filter compares"):
        as_sql(OneOf("Value", pa.nulls(1, type_)))


def test_rows_are_deleted_by_any_number_of_ids(tmp_path: Path) -> None:
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")), 300)
    for indexed in (False, True):
        table = StagedTable(folder.attempt(), TABLE)
        if indexed:
            table.build_index("id", IndexKind.BTREE)
        many = [f"r{number}" for number in range(10, 200)] + [f"none{number}" for number in range(3_000)]
        assert [table.delete(ids) for ids in ([], ["none"], ["r5", "none"], ["r5"], many)] == [
            0,
            0,
            1,
            0,
            190,
        ]
        left = {f"r{number}" for number in (*range(5), *range(6, 10), *range(200, 300))}
        assert set(table.scan(["id"])["id"].to_pylist()) == left


def test_the_nearest_rows_are_those_among_the_rows_that_pass(tmp_path: Path) -> None:
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")), 300)
    attempt = folder.attempt()
    StagedTable(attempt, TABLE).build_index("vec", IndexKind.VECTOR)
    table = Table(folder.at(attempt.pin).snapshot(), TABLE)
    found = nearest(table, "vec", [1.0] * 4, 5, filter=ComparedColumn("n", ">=", pa.scalar(290)))
    assert found is not None
    assert set(found["id"].to_pylist()) == {f"r{n}" for n in range(290, 300)}, "all ten are equally near"
