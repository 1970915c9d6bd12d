"""Aggregates that a task computes of what it reads: partial results, which Spark puts together.

They are what Spark computes itself, also where a sum overflows: rows whose sum could go to it one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.pipeline.datasource import TableReader
from omnigraph.pipeline.spark_types import select_columns, spark_batches, spark_schema
from omnigraph.pipeline.workers.scan import TableScan

_EXACT = frozenset(
    {Scalar.STRING, Scalar.BOOL, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.DATE, Scalar.DATETIME}
)
"""Arrow compares and groups them as Spark does; both zeros and decimals it does not."""
_FUNCTIONS = {"SUM": "sum", "COUNT": "count", "COUNT_ROWS": "count", "MIN": "min", "MAX": "max"}
_MERGES = {"SUM": "sum", "COUNT": "sum", "COUNT_ROWS": "sum", "MIN": "min", "MAX": "max"}
_MOST_SUM = 2**63 - 1
_MOST_GROUPS = 65_536
_ALL_ROWS = pc.CountOptions(mode="all")


def is_aggregable(type_: PropertyType) -> bool:
    """Return whether a task computes the aggregates and groups of a property as Spark does."""
    return type_.is_plain and type_.scalar in _EXACT


@dataclass(frozen=True)
class Aggregates:
    """What is asked of a scan: columns that rows are grouped by, and aggregates as words with columns."""

    by: tuple[str, ...]
    of: tuple[tuple[str, str], ...]

    @staticmethod
    def read(text: str) -> Aggregates:
        """Return what a JSON string asks for."""
        said: dict[str, Any] = json.loads(text)
        return Aggregates(tuple(said["by"]), tuple((word, column) for word, column in said["of"]))

    def columns(self) -> list[str]:
        """Return the columns that must be read."""
        return list(dict.fromkeys([*self.by, *(column for _, column in self.of)]))

    def compute(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield partial results, groups first; without groups at least one row."""
        kept: list[pa.Table] = []
        told, bounds = False, dict.fromkeys((column for word, column in self.of if word == "SUM"), 0)
        for batch in batches:
            for column in bounds:
                bounds[column] += _bound(batch.column(column))
            if max(bounds.values(), default=0) > _MOST_SUM:
                yield from (self._merge(kept), self._each(batch)) if kept else (self._each(batch),)
                kept, told = [], True
                continue
            kept.append(self._partial(batch))
            if sum(part.num_rows for part in kept) > _MOST_GROUPS:
                kept = [self._merge(kept)]
                if kept[0].num_rows > _MOST_GROUPS // 2:
                    yield kept.pop()
        if kept:
            yield self._merge(kept)
        elif not told and not self.by:
            none = [[0 if word.startswith("COUNT") else None] for word, _ in self.of]
            yield pa.table(none, [str(at) for at in range(len(none))])

    def _partial(self, batch: pa.RecordBatch) -> pa.Table:
        columns = [batch.column(name) for name in (*self.by, *(column for _, column in self.of))]
        options = [_ALL_ROWS if word == "COUNT_ROWS" else None for word, _ in self.of]
        return self._group(columns, [_FUNCTIONS[word] for word, _ in self.of], options)

    def _merge(self, parts: list[pa.Table]) -> pa.Table:
        merges = [_MERGES[word] for word, _ in self.of]
        return self._group(pa.concat_tables(parts).columns, merges, [None] * len(merges))

    def _group(self, columns: list[Any], functions: list[str], options: list[Any]) -> pa.Table:
        names = [str(at) for at in range(len(columns))]
        keys = names[: len(self.by)]
        wanted = list(zip(names[len(keys) :], functions, options, strict=True))
        grouped = pa.table(columns, names).group_by(keys, use_threads=False).aggregate(wanted)
        return grouped.rename_columns(names)

    def _each(self, batch: pa.RecordBatch) -> pa.Table:
        """Return every row as a result of its own."""
        columns = [batch.column(name) for name in self.by]
        for word, name in self.of:
            column = batch.column(name)
            if word == "COUNT_ROWS":
                column = pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows)
            elif word == "COUNT":
                column = pc.cast(pc.is_valid(column), pa.int64())
            columns.append(column)
        return pa.table(columns, [str(at) for at in range(len(columns))])


class AggregateReader(TableReader):
    """Reads aggregates of a pinned table, a task for each group of fragments."""

    def __init__(self, scan: TableScan, asked: Aggregates, results: StructType, rows: int) -> None:
        super().__init__(scan, select_columns(spark_schema(scan.table), asked.columns()), rows)
        self.asked, self.results = asked, results

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the partial results of a task."""
        for found in self.asked.compute(super().read(partition)):
            yield from spark_batches(found.rename_columns(self.results.fieldNames()), self.results)


def _bound(column: pa.Array) -> int:
    """Return what the sum of some of the integers of a column cannot exceed."""
    ends = pc.min_max(column).as_py()
    return 0 if ends["min"] is None else len(column) * max(abs(ends["min"]), abs(ends["max"]))
