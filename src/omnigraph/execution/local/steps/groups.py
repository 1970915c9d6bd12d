"""Aggregates over groups of rows, as arrays; a row may represent many equal ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Aggregate, AggregateFunction, Value
from omnigraph.execution.group_values import compute_on_groups
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.exact_sums import average_exactly, sum_exactly
from omnigraph.execution.local.frame import NULL, Frame, Positions, combine_keys, sum_weights
from omnigraph.execution.local.sizes import check_fits_one_array
from omnigraph.execution.local.sorting import distinct_rows, lexical_order
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.used_variables import counts_rows
from omnigraph.graph.model.columns import arrow_type

_NUMBER_BYTES = 8
"""Bytes of a position, or of a rank."""


@dataclass(frozen=True)
class Groups:
    """Which group each row is in, and a row of each group."""

    of_row: Positions
    first: Positions

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.first)


def aggregate_groups(
    query: ReadQuery, values: Values, frame: Frame, budget: QueryBudget, unread: Collection[int] = ()
) -> tuple[list[pa.Array], Frame]:
    """Return a column for each projection, with a row for each group, and an assignment of each.

    Nobody looks at the columns that are `unread`, which are all NULL.
    """
    keys = [item.value for item in query.projections if item.is_key and not isinstance(item.value, Aggregate)]
    budget.need(_NUMBER_BYTES * frame.rows * (len(keys) + 1))
    groups = group(keys, values, frame)
    rows = frame.take(groups.first) if frame.rows else frame
    columns: list[pa.Array | None] = []
    for at, item in enumerate(query.projections):
        budget.check()
        if at in unread:
            columns.append(pa.nulls(groups.count))
        elif item.on_groups:
            columns.append(None)
        elif isinstance(item.value, Aggregate):
            columns.append(aggregate(item.value, values, frame, groups, budget))
        else:
            budget.hold(values.size(item.value, rows))
            columns.append(values.array(item.value, rows))
    found, kept = compute_on_groups(query, columns, groups.count)
    if kept is not None and rows.rows:
        rows = rows.keep(np.asarray(kept.to_numpy(zero_copy_only=False), dtype=bool))
    return found, rows


def group(keys: list[Value], values: Values, frame: Frame) -> Groups:
    """Group rows by equal keys; NULL is a key of its own. Without keys there is one group."""
    if not keys:
        return Groups(np.zeros(frame.rows, dtype=np.int64), np.zeros(1, dtype=np.int64))
    code = combine_keys([values.ranks(key, frame).codes + 1 for key in keys])
    size = int(code.max(initial=0)) + 1
    if size > max(1024, 4 * frame.rows):
        _, first, of_row = distinct_rows(code)
        return Groups(of_row, first)
    present = np.full(size, NULL, dtype=np.int64)
    present[code[::-1]] = np.arange(frame.rows - 1, -1, -1)
    used = np.flatnonzero(present != NULL)
    number = np.empty(size, dtype=np.int64)
    number[used] = np.arange(len(used))
    return Groups(number[code], present[used])


def aggregate(node: Aggregate, values: Values, frame: Frame, groups: Groups, budget: QueryBudget) -> pa.Array:
    """Return an aggregate of each group."""
    budget.hold(_NUMBER_BYTES * groups.count)
    if counts_rows(node):
        if frame.weights is None and groups.count == 1:
            return pa.array([frame.rows], pa.int64())
        return pa.array(sum_weights(groups.of_row, frame.weights, groups.count), pa.int64())
    match node.function:
        case (
            AggregateFunction.COUNT
            | AggregateFunction.MIN
            | AggregateFunction.MAX
            | AggregateFunction.COLLECT
        ):
            return _aggregate_ranks(node, values, frame, groups, budget)
    budget.need(values.size(node.argument, frame))
    return _aggregate_numbers(node, values, frame, groups)


def _aggregate_ranks(
    node: Aggregate, values: Values, frame: Frame, groups: Groups, budget: QueryBudget
) -> pa.Array:
    budget.need(2 * _NUMBER_BYTES * frame.rows)
    ranks = values.ranks(node.argument, frame)
    rows = np.flatnonzero(ranks.codes != NULL)
    of_row, codes = groups.of_row[rows], ranks.codes[rows]
    weights = None if frame.weights is None else frame.weights[rows]
    if node.function is AggregateFunction.COUNT and not node.distinct:
        return pa.array(sum_weights(of_row, weights, groups.count), pa.int64())
    if node.function is AggregateFunction.COLLECT and not node.distinct:
        order = lexical_order([of_row, codes])
        each = None if weights is None else weights[order]
        return _collect_lists(node, values, frame, Members(rows[order], of_row[order], each), groups, budget)
    size = max(ranks.size, 1)
    pairs, chosen = _find_distinct(of_row * size + codes, groups.count * size)
    of_pair = pairs // size
    match node.function:
        case AggregateFunction.COUNT:
            return pa.array(np.bincount(of_pair, minlength=groups.count), pa.int64())
        case AggregateFunction.COLLECT:
            return _collect_lists(node, values, frame, Members(rows[chosen], of_pair, None), groups, budget)
    # Pairs are sorted by group and then by value.
    every = np.arange(groups.count)
    if node.function is AggregateFunction.MIN:
        places = np.searchsorted(of_pair, every, side="left")
    else:
        places = np.searchsorted(of_pair, every, side="right") - 1
    inside = np.clip(places, 0, max(len(pairs) - 1, 0))
    there = np.zeros(groups.count, dtype=bool)
    if len(pairs):
        there = of_pair[inside] == every
    taken = rows[chosen[inside]] if len(pairs) else np.zeros(0, dtype=np.int64)
    some = frame.take(taken[there]) if len(pairs) else frame.take(taken)
    budget.hold(values.size(node.argument, some))
    found = values.array(node.argument, some)
    spread = np.full(groups.count, NULL, dtype=np.int64)
    spread[there] = np.arange(int(there.sum()))
    return found.take(pa.array(spread, mask=spread == NULL))


def _find_distinct(keys: Positions, size: int) -> tuple[Positions, Positions]:
    """Return the distinct keys, sorted, and a place of each; a table is used if it is small enough."""
    if size > max(1 << 20, 2 * len(keys)):
        distinct, places, _ = distinct_rows(keys)
        return distinct, places
    place = np.full(size, NULL, dtype=np.int64)
    place[keys] = np.arange(len(keys))
    distinct = np.flatnonzero(place != NULL)
    return distinct, place[distinct]


@dataclass(frozen=True)
class Members:
    """Rows whose values are collected, sorted by group and then by value."""

    rows: Positions
    of_row: Positions
    times: Positions | None
    """How often each is collected; None for once."""


def _collect_lists(
    node: Aggregate, values: Values, frame: Frame, members: Members, groups: Groups, budget: QueryBudget
) -> pa.Array:
    """Return the values of each group as a list."""
    counts = sum_weights(members.of_row, members.times, groups.count)
    total = int(sum_weights(None, counts, 1)[0])
    check_fits_one_array(total, "members of lists")
    budget.check_rows(total)
    rows = members.rows
    if members.times is not None:
        budget.need(_NUMBER_BYTES * total * 2)
        rows = np.repeat(rows, members.times)
    taken = frame.take(rows)
    budget.hold(values.size(node.argument, taken))
    offsets = np.zeros(groups.count + 1, dtype=np.int32)
    np.cumsum(counts, out=offsets[1:])
    found = values.array(node.argument, taken)
    return pa.ListArray.from_arrays(pa.array(offsets), found, type=arrow_type(node.type))


def _aggregate_numbers(node: Aggregate, values: Values, frame: Frame, groups: Groups) -> pa.Array:
    """Return the sum or the mean of each group, rounded once."""
    array = values.array(node.argument, frame)
    rows = np.flatnonzero(np.asarray(array.is_valid().to_numpy(zero_copy_only=False)))
    numbers = np.asarray(
        (array if len(rows) == len(array) else array.drop_null()).to_numpy(zero_copy_only=False)
    )
    of_row = groups.of_row[rows]
    weights = None if frame.weights is None else frame.weights[rows]
    if node.distinct:
        order = lexical_order([of_row, distinct_rows(numbers)[2]])
        again = np.zeros(len(order), dtype=bool)
        if len(order) > 1:
            same_group = of_row[order][1:] == of_row[order][:-1]
            again[1:] = same_group & (numbers[order][1:] == numbers[order][:-1])
        kept = order[~again]
        numbers, of_row, weights = numbers[kept], of_row[kept], None
    counts = sum_weights(of_row, weights, groups.count)
    if node.function is AggregateFunction.AVG:
        found = average_exactly(numbers, of_row, weights, counts)
    else:
        found = sum_exactly(numbers, of_row, weights, groups.count)
    return pa.array(found, pa.float64(), mask=counts == 0)
