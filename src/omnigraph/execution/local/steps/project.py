"""From assignments to result columns: groups, distinct rows, order, skip and limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import pyarrow as pa

from omnigraph.base.cancellation import checkpoint
from omnigraph.compiler.ir.queries import Output, ReadQuery
from omnigraph.compiler.ir.values import Aggregate, Constant
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.ranks import rank
from omnigraph.execution.local.frame import Frame, Positions, combine_keys, concatenate
from omnigraph.execution.local.sorting import distinct_rows, lexical_order
from omnigraph.execution.local.steps.groups import aggregate_groups
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.nodes import Duplicates

_MAX_UNSIZED_ROWS = 256
"""Rows up to which the size of a column is only known once it is made."""
_CODE_BYTES = 8
"""Bytes of a position, or of a rank."""
_MERGE_AT_ROWS = 1 << 22
"""Rows that are gathered before equal ones are merged, or all but the first are dropped."""


class Shaper:
    """Makes the result of a query from the frames of its pattern."""

    def __init__(self, query: ReadQuery, values: Values, budget: QueryBudget, duplicates: Duplicates) -> None:
        self._query = query
        self._values = values
        self._budget = budget
        self._duplicates = duplicates
        self._first = _count(query.skip) or 0
        self._limit = _count(query.limit)
        self._output_values = [
            item.value for item in query.projections if not isinstance(item.value, Aggregate)
        ]

    def result(self, frames: Iterable[Frame]) -> list[pa.Array]:
        """Return a column for each projection."""
        return self.rows(frames)[0]

    def rows(self, frames: Iterable[Frame], unread: Collection[int] = ()) -> tuple[list[pa.Array], Frame]:
        """Return a column for each projection, and the assignment that each row, or its group, comes from.

        Nobody looks at the columns that are `unread`, which are all NULL.
        """
        frame = self._gather(frames)
        query = self._query
        if query.grouped:
            columns, frame = aggregate_groups(query, self._values, frame, self._budget, unread)
            if query.distinct:
                columns, frame = _take_rows(columns, frame, self._distinct(columns, frame, unread))
            return self._sort_outputs(columns, frame, unread)
        if query.distinct:
            frame = frame.take(self._distinct_rows(frame))
            return self._sort_outputs(self._project(frame, unread), frame, unread)
        if query.order or self._first or (self._limit is not None and self._limit < frame.rows):
            frame = frame.take(self._order(frame))
        return self._project(frame, unread), frame

    def pieces(self, frames: Iterable[Frame], most: int) -> Iterator[list[pa.Array]]:
        """Yield the columns of `most` rows at a time; a result that needs all rows comes as one piece."""
        query = self._query
        if query.grouped or query.distinct or query.order or self._limit is not None or self._first:
            yield self.result(frames)
            return
        for frame in frames:
            for start in range(0, frame.rows, most):
                piece = frame.cut(start, min(start + most, frame.rows))
                self._budget.check()
                self._values.read_ahead(self._output_values, piece)
                self._budget.need(sum(self._values.size(value, piece) for value in self._output_values))
                yield [self._values.array(value, piece) for value in self._output_values]

    def _gather(self, frames: Iterable[Frame]) -> Frame:
        """Return all rows, or only the first by order if the rest cannot be in the result."""
        kept: list[Frame] = []
        ranked = bool(self._query.order) and self._limit is not None and not self._query.grouped
        can_shrink = self._duplicates is not Duplicates.KEPT or ranked
        rows, unsorted = 0, not self._query.order and not self._query.grouped and not self._query.distinct
        for frame in frames:
            kept.append(frame)
            rows += frame.rows
            self._budget.need(_bytes(frame, rows))
            if unsorted and self._limit is not None and rows >= self._first + self._limit:
                break
            if not can_shrink:
                self._budget.check_rows(rows)
            elif rows > _MERGE_AT_ROWS:
                kept = [self._shrink(concatenate(kept))]
                rows = kept[0].rows
                self._budget.check_rows(rows)
        whole = concatenate(kept)
        self._budget.hold(_bytes(whole, whole.rows))
        return whole

    def _shrink(self, frame: Frame) -> Frame:
        if self._duplicates is not Duplicates.KEPT:
            return frame.merge_equal(weighted=self._duplicates is Duplicates.COUNTED)
        assert self._limit is not None
        return frame.take(np.sort(self._find_first(frame, self._first + self._limit)))

    def _project(self, frame: Frame, unread: Collection[int] = ()) -> list[pa.Array]:
        columns = []
        shown = [value for at, value in enumerate(self._output_values) if at not in unread]
        self._values.read_ahead(shown, frame)
        for at, value in enumerate(self._output_values):
            self._budget.check()
            if at in unread:
                columns.append(pa.nulls(frame.rows))
                continue
            expected = self._values.size(value, frame)
            self._budget.hold(expected)
            columns.append(self._values.array(value, frame))
            self._budget.hold(max(0, columns[-1].nbytes - expected) if frame.rows <= _MAX_UNSIZED_ROWS else 0)
        return columns

    def _order(self, frame: Frame) -> Positions:
        """Return the rows of the result, in order."""
        last = frame.rows if self._limit is None else self._first + self._limit
        if not self._query.order:
            return np.arange(min(self._first, frame.rows), min(last, frame.rows), dtype=np.int64)
        return self._find_first(frame, last)[self._first :]

    def _find_first(self, frame: Frame, count: int) -> Positions:
        """Return the first rows by the query's order; later keys are evaluated only for rows that tie."""
        rows = np.arange(frame.rows, dtype=np.int64)
        keys = [key for key in (*self._query.order, *self._query.ties) if not isinstance(key.value, Output)]
        self._budget.need(_CODE_BYTES * frame.rows * (len(self._query.order) + 1))
        codes: list[Positions] = []
        for key in keys:
            assert not isinstance(key.value, Output)
            part = frame if len(rows) == frame.rows else frame.take(rows)
            found = self._values.ranks(key.value, part).codes
            codes.append(-found if key.descending else found)
            if 0 < count < len(rows):
                rows, codes = _drop_beyond(rows, codes, count)
        order = lexical_order(codes) if codes else np.arange(len(rows))
        return rows[order][:count]

    def _distinct_rows(self, frame: Frame) -> Positions:
        shown = [item.value for item in self._query.projections if not item.shadowed]
        self._budget.need(_CODE_BYTES * frame.rows * (len(shown) + 1))
        codes = [
            self._values.ranks(value, frame).codes + 1 for value in shown if not isinstance(value, Aggregate)
        ]
        return _first_of_each(codes, frame.rows)

    def _distinct(self, columns: list[pa.Array], frame: Frame, unread: Collection[int]) -> Positions:
        shown = [at for at, item in enumerate(self._query.projections) if not (item.shadowed or item.hidden)]
        codes = [self._ranks(at, columns, frame, unread, None) + 1 for at in shown]
        return _first_of_each(codes, len(columns[0]))

    def _ranks(
        self,
        at: int,
        columns: list[pa.Array],
        frame: Frame,
        unread: Collection[int],
        rows: Positions | None,
    ) -> Positions:
        """Return the ranks of a column of the result in some of its rows, or in all."""
        value = self._query.projections[at].value
        if at in unread and not isinstance(value, Aggregate):
            return self._values.ranks(value, frame if rows is None else frame.take(rows)).codes
        return rank(columns[at] if rows is None else columns[at].take(pa.array(rows))).codes

    def _sort_outputs(
        self, columns: list[pa.Array], frame: Frame, unread: Collection[int]
    ) -> tuple[list[pa.Array], Frame]:
        """Sort groups or distinct rows by their own columns."""
        total = len(columns[0]) if columns else 0
        order = np.arange(total, dtype=np.int64)
        keys = (*self._query.order, *self._query.ties)
        if self._query.order:
            count = total if self._limit is None else self._first + self._limit
            codes: list[Positions] = []
            for key in keys:
                assert isinstance(key.value, Output)
                some = None if len(order) == total else order
                found = self._ranks(key.value.projection, columns, frame, unread, some)
                codes.append(-found if key.descending else found)
                if 0 < count < len(order):
                    order, codes = _drop_beyond(order, codes, count)
            order = order[lexical_order(codes)]
        last = total if self._limit is None else self._first + self._limit
        return _take_rows(columns, frame, order[self._first : last])


def _bytes(frame: Frame, rows: int) -> int:
    """Return the bytes of `rows` rows with the columns of a frame."""
    return _CODE_BYTES * rows * (len(frame.columns) + 1)


def _drop_beyond(rows: Positions, codes: list[Positions], count: int) -> tuple[Positions, list[Positions]]:
    """Drop the rows that cannot be among the first `count`, by the keys so far."""
    key = codes[0] if len(codes) == 1 else combine_keys([_shift_to_zero(code) for code in codes])
    checkpoint()
    worst = np.partition(key, count - 1)[count - 1]
    kept = np.flatnonzero(key <= worst)
    return rows[kept], [code[kept] for code in codes]


def _shift_to_zero(code: Positions) -> Positions:
    return code - int(code.min(initial=0))


def _first_of_each(codes: list[Positions], rows: int) -> Positions:
    if not codes:
        return np.arange(min(rows, 1), dtype=np.int64)
    return np.sort(distinct_rows(combine_keys(codes))[1])


def _take_rows(columns: list[pa.Array], frame: Frame, rows: Positions) -> tuple[list[pa.Array], Frame]:
    places = pa.array(rows)
    # The one group of no rows has no assignment.
    return [column.take(places) for column in columns], frame.take(rows) if frame.rows else frame


def _count(node: object) -> int | None:
    return node.value if isinstance(node, Constant) and isinstance(node.value, int) else None
