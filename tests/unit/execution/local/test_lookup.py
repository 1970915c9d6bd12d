"""Values are found by their hashes, whatever the layout of the column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.execution.local.cache.lookup import GrowingTable, HashTable, Lookup
from omnigraph.execution.local.cache.parted_column import PartedColumn
from omnigraph.graph.model.hashing import hash_values

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=30)), max_size=40)
NONE = np.empty(0, dtype=np.int64)
NUMBERS = st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=40)


@given(TEXTS, st.sampled_from([pa.string(), pa.large_string()]), st.integers(0, 5))
def test_every_text_is_found_where_it_stands(values: list[str | None], type_: pa.DataType, cut: int) -> None:
    column = pa.array(["before"] * cut + values, type_).slice(cut)
    _check(column, values)


@given(NUMBERS)
def test_every_integer_is_found_where_it_stands(values: list[int | None]) -> None:
    _check(pa.array(values, pa.int64()), values)


def test_deleted_rows_are_not_found() -> None:
    column = pa.array(["a", "b", "a"])
    index = Lookup(PartedColumn.of([column]), [HashTable.of(column)], np.array([0]))
    assert index.find("a").tolist() == [2]
    assert index.find_each(pa.array(["a", "c", "b"])).tolist() == [2, -1, 1]
    assert index.find_each(pa.array(["a", "c", "b", None, "c", "c"])).tolist() == [2, -1, 1, -1, -1, -1]


def test_values_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "omnigraph.execution.local.cache.lookup"
    monkeypatch.setattr(f"{module}.hash_values", lambda values: np.zeros(len(values), dtype=np.uint64))
    monkeypatch.setattr(f"{module}.hash_value", lambda _: 0)
    column = pa.array([f"v{at}" for at in range(100)])
    index = Lookup(PartedColumn.of([column]), [HashTable.of(column)], NONE)
    assert index.find("v7").tolist() == [7]
    assert index.find_each(pa.array(["v9", "no", "v0"])).tolist() == [9, -1, 0]
    assert index.find_each(pa.array(["v9", "no", "v0", "v1", "v2"])).tolist() == [9, -1, 0, 1, 2]


@given(st.lists(st.tuples(st.integers(0, 3), NUMBERS), max_size=8))
def test_versions_that_share_a_growing_table_find_their_own_rows(writes: list[tuple[int, list[int]]]) -> None:
    """Each version adds some values to one of those before it, as commits of several branches do."""
    versions: list[tuple[list[int], GrowingTable]] = [([], GrowingTable.of(pa.array([], pa.int64())))]
    for back, added in writes:
        values, table = versions[max(0, len(versions) - 1 - back)]
        versions.append(([*values, *added], GrowingTable.grow(table, pa.array(added, pa.int64()))))
    for values, table in versions:
        column = pa.array(values, pa.int64())
        index = Lookup(PartedColumn.of([column]), [table], NONE)
        assert table.size == len(values)
        for value in {value for _, added in writes for value in added if value is not None}:
            assert index.find(value).tolist() == [at for at, other in enumerate(values) if other == value]
        known = [value for value in dict.fromkeys(values) if value is not None and values.count(value) == 1]
        asked = pa.array([*known, *[4711] * 5], pa.int64())
        places = [*map(values.index, known), *[values.index(4711) if 4711 in known else -1] * 5]
        assert index.find_each(asked).tolist() == places or values.count(4711) > 1


def _check(column: pa.Array, values: list[object]) -> None:
    half = len(values) // 2
    tables = [HashTable.of(column.slice(0, half)), HashTable.of(column.slice(half))]
    index = Lookup(PartedColumn.of([column.slice(0, half), column.slice(half)]), tables, NONE)
    for value in {value for value in values if value is not None}:
        assert index.find(value).tolist() == [at for at, other in enumerate(values) if other == value]
    assert len(hash_values(column)) == len(values)
    missing = 4711 if pa.types.is_integer(column.type) else "nowhere at all"
    assert missing in values or index.find(missing).tolist() == []
