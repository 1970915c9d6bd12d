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


def test_parts_of_other_widths_are_taken_together() -> None:
    column = PartedColumn.of([pa.array(["a", "b"], pa.large_string()), pa.array(["c"], pa.string())])
    assert column.take(np.array([2, 0])).to_pylist() == ["c", "a"]
