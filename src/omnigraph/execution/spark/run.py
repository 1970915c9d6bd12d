"""Running a bound read on Spark: the data frame of its result, and its columns on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, overload

import pyarrow as pa

from omnigraph.compiler.ir.queries import Column, ReadQuery
from omnigraph.compiler.ir.values import TextScore
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.frame import Positions
from omnigraph.execution.local.run import run_searches
from omnigraph.execution.local.steps.expand_paths import check_weights
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.result import Result
from omnigraph.execution.spark.attributes import Attributes, attributes_of, looks_elsewhere
from omnigraph.execution.spark.column_names import names_in_spark
from omnigraph.execution.spark.encoding import decode, display_sql
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.execution.spark.match import SparkMatcher
from omnigraph.execution.spark.shape import name_columns, output, shape_result
from omnigraph.execution.spark.tables import Tables
from omnigraph.execution.spark.time_limit import TimeLimit
from omnigraph.graph.snapshot import Snapshot


def run_on_spark(
    spark: Any,
    abandon: Callable[[], None],
    query: ReadQuery,
    plan: ReadPlan,
    snapshot: Snapshot,
    views: Views,
    budget: QueryBudget,
) -> Result:
    """Return the result of a read; its rows are computed on demand.

    Rankings are computed on the driver, with the text and vector indexes of the local engine.
    `abandon` ends a session that does not respond when the time is over.
    """
    check_weights(query, views)
    ready = _prepare(query, plan, views, budget)
    limit = TimeLimit(spark, budget.seconds, abandon)
    with limit.enforce(), spark_errors("the query"):
        rows = _shape(spark, ready, snapshot)
        place = {item.name: output(at) for at, item in enumerate(query.projections)}
        encoded = rows.select(*(place[column.name] for column in query.columns))
        shown = rows.selectExpr(*(display_sql(place[item.name], item.type) for item in query.columns))
        frame = shown.toDF(*names_in_spark(column.name for column in query.columns))
    arrays = Collected(encoded, query.columns, limit)
    return Result(query.columns, arrays, snapshot.commit_id, "spark", frame)


@dataclass(frozen=True)
class _Prepared:
    """A read, what the driver has computed for it, and the reads whose rows it begins with."""

    query: ReadQuery
    plan: ReadPlan
    attributes: Attributes
    values: Values
    best: dict[int, Positions]
    before: tuple[_Prepared, ...]
    budget: QueryBudget


def _prepare(query: ReadQuery, plan: ReadPlan, views: Views, budget: QueryBudget) -> _Prepared:
    reads = query.source.reads if query.source is not None else ()
    before = tuple(
        _prepare(read, planned, views, budget) for read, planned in zip(reads, plan.sources, strict=True)
    )
    values, best = run_searches(query, plan, views, budget)
    attributes = attributes_of(query, plan)
    for slot, searches in attributes.searches.items():
        for value in searches:
            if isinstance(value, TextScore) and looks_elsewhere(value):
                attributes.texts[value] = values.view(slot).texts(value.field.declared.name)
    return _Prepared(query, plan, attributes, values, best, before, budget)


def _shape(spark: Any, ready: _Prepared, snapshot: Snapshot, is_stage: bool = False) -> Any:
    """Return the data frame of a read, with a column for each projection."""
    query = ready.query
    tables = Tables(spark, snapshot, query, ready.attributes, ready.values, ready.best, ready.budget)
    start = None
    if query.source is not None:
        parts = [
            name_columns(query, read.query, _shape(spark, read, snapshot, is_stage=True))
            for read in ready.before
        ]
        start = reduce(lambda one, other: one.unionByName(other), parts)
    frame = SparkMatcher(query, tables, start).frame(ready.plan)
    return shape_result(query, ready.attributes, frame, is_stage)


class Collected(Sequence[pa.Array]):
    """The columns of a result, collected on the driver on first access."""

    def __init__(self, encoded: Any, columns: tuple[Column, ...], limit: TimeLimit) -> None:
        """Take the data frame, and the time limit."""
        self._encoded = encoded
        self._columns = columns
        self._limit = limit
        self._arrays: list[pa.Array] | None = None

    @overload
    def __getitem__(self, at: int) -> pa.Array: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[pa.Array]: ...

    def __getitem__(self, at: int | slice) -> Any:
        """Return a column."""
        return self._collect()[at]

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def is_collected(self) -> bool:
        """Whether Spark has worked already."""
        return self._arrays is not None

    def _collect(self) -> list[pa.Array]:
        if self._arrays is None:
            with self._limit.enforce(), spark_errors("the query"):
                table = self._encoded.toArrow()
            self._arrays = [
                decode(column.combine_chunks(), item.type)
                for column, item in zip(table.columns, self._columns, strict=True)
            ]
        return self._arrays
