"""Running a bound read on Spark: the data frame of its result, and its columns on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import pyarrow as pa

from omnigraph.compiler.ir.queries import Column, ReadQuery
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.run import run_searches
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.result import Result
from omnigraph.execution.spark.attributes import attributes_of
from omnigraph.execution.spark.column_names import names_in_spark
from omnigraph.execution.spark.encoding import decode, display_sql
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.execution.spark.match import SparkMatcher
from omnigraph.execution.spark.shape import output, shape_result
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
    values, best = run_searches(query, plan, views, budget)
    attributes = attributes_of(query, plan)
    limit = TimeLimit(spark, budget.seconds, abandon)
    with limit.enforce(), spark_errors("the query"):
        tables = Tables(spark, snapshot, query, attributes, values, best)
        rows = shape_result(query, attributes, SparkMatcher(query, tables).frame(plan))
        place = {item.name: output(at) for at, item in enumerate(query.projections)}
        encoded = rows.select(*(place[column.name] for column in query.columns))
        shown = rows.selectExpr(*(display_sql(place[item.name], item.type) for item in query.columns))
        frame = shown.toDF(*names_in_spark(column.name for column in query.columns))
    arrays = Collected(encoded, query.columns, limit)
    return Result(query.columns, arrays, snapshot.commit_id, "spark", frame)


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
