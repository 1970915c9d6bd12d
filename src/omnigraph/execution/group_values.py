"""What is computed from the columns of groups, and the groups that `having` keeps."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Aggregate, Computed, Constant, GroupValue, Value
from omnigraph.execution.conditions import evaluate_on, value_array
from omnigraph.graph.model.arrow_values import to_arrow


class GroupRows:
    """`Columns` of groups: each `GroupValue` is the column at its position."""

    def __init__(self, columns: Sequence[pa.Array | None], rows: int) -> None:
        """Take the columns, and the number of groups."""
        self._columns = columns
        self.num_rows = rows

    def column(self, value: Value) -> pa.Array | None:
        """Return a column, or None for a constant."""
        if isinstance(value, Constant):
            return None
        assert isinstance(value, GroupValue), "groups have only their columns"
        return self._columns[value.projection]


def compute_on_groups(
    query: ReadQuery, columns: Sequence[pa.Array | None], rows: int
) -> tuple[list[pa.Array], pa.BooleanArray | None]:
    """Return all columns of the groups that `having` keeps, and which it keeps, None for all.

    Columns that are computed from others come without one.
    """
    known = GroupRows(columns, rows)
    every = [
        _compute(item.value, known) if column is None else column
        for item, column in zip(query.projections, columns, strict=True)
    ]
    if query.having is None:
        return every, None
    kept = pc.fill_null(evaluate_on(query.having, GroupRows(every, rows)), False)
    return [column.filter(kept) for column in every], kept


def _compute(value: Value | Aggregate, rows: GroupRows) -> pa.Array:
    assert not isinstance(value, Aggregate), "an aggregate has its column"
    if isinstance(value, Computed):
        return value_array(value, rows)
    if isinstance(value, Constant):
        return to_arrow([value.value] * rows.num_rows, value.type)
    return rows.column(value)
