"""A column in parts is read as one array is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.execution.local.cache.parted_column import PartedColumn

PARTS = st.lists(st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=1, max_size=8), min_size=1)


@given(PARTS, st.data())
def test_rows_are_taken_from_the_part_that_has_them(
    parts: list[list[str | None]], data: st.DataObject
) -> None:
    column = PartedColumn.of([pa.array(part, pa.string()) for part in parts])
    whole = [value for part in parts for value in part]
    rows = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=20))
    assert len(column) == len(whole)
    assert column.take(np.array(rows, dtype=np.int64)).to_pylist() == [whole[row] for row in rows]
    assert [column.value(row) for row in rows] == [whole[row] for row in rows]
    some = data.draw(st.lists(st.integers(-1, len(whole) - 1), max_size=20))
    taken = column.take(np.array(some, dtype=np.int64), nulls=True).to_pylist()
    assert taken == [None if row == -1 else whole[row] for row in some]


@given(PARTS, st.data())
def test_few_rows_are_taken_from_pieces_that_are_joined_only_for_many(
    parts: list[list[str | None]], data: st.DataObject
) -> None:
    pieces = [pa.array(part, pa.string()) for part in parts]
    whole, joined = [value for part in parts for value in part], list[int]()

    def join() -> list[pa.Array]:
        joined.append(1)
        return [pieces[0], pa.concat_arrays([pa.array([], pa.string()), *pieces[1:]])]

    column = PartedColumn(pieces, 0, join)
    rows = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=16))
    assert len(column) == len(whole)
    assert [column.value(row) for row in rows] == [whole[row] for row in rows]
    if rows:
        assert column.take(np.array(rows, dtype=np.int64)).to_pylist() == [whole[row] for row in rows]
    assert not joined
    many = [*range(len(whole))] * 17
    assert column.take(np.array(many, dtype=np.int64)).to_pylist() == whole * 17
    assert column.take(np.array([*rows, -1]), nulls=True).to_pylist() == [*(whole[row] for row in rows), None]
    assert [column.value(row) for row in rows] == [whole[row] for row in rows]
    assert len(joined) == (1 if len(pieces) > 1 else len(joined))
    assert sum(map(len, column.parts)) == len(whole)


def test_parts_of_other_widths_are_taken_together() -> None:
    column = PartedColumn.of([pa.array(["a", "b"], pa.large_string()), pa.array(["c"], pa.string())])
    assert column.take(np.array([2, 0])).to_pylist() == ["c", "a"]
    assert column.take(np.array([2, 0] * 20)).to_pylist() == ["c", "a"] * 20
