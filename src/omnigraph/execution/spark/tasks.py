"""Tasks of a read: scan parts of a table, filter rows, compute values, sum exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.values import Computed, Constant, TextMatch, TextScore, Value, VectorDistance
from omnigraph.compiler.types import PropertyType
from omnigraph.execution.conditions import columns_of, evaluate, evaluate_on, value_array
from omnigraph.execution.exact_mean import exact_mean
from omnigraph.execution.search.text import match_words
from omnigraph.execution.search.vectors import VectorIndex, Vectors
from omnigraph.execution.spark.attributes import (
    Attributes,
    Search,
    StoredColumn,
    ValueColumns,
    looks_elsewhere,
)
from omnigraph.execution.spark.encoding import decode, encode
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.rows.scan_with_blobs import ScanPart, whole_rows
from omnigraph.storage.tables.table import Table


@dataclass(frozen=True)
class ScanTask:
    """Called with part numbers; yields the rows of the parts that pass all filters."""

    namespace: SnapshotNamespace
    key: str
    parts: Sequence[ScanPart]
    columns: Sequence[StoredColumn]
    filters: Sequence[Condition]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts with these numbers."""
        pa.set_cpu_count(1)  # Spark runs as many tasks as there are cores
        table = Table(self.namespace, self.key)
        looked_at = set().union(*map(columns_of, self.filters))
        names = sorted({item.stored for item in self.columns} | looked_at)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in whole_rows(table, names, self.parts[number]):
                    yield from self._filter_and_encode(rows)

    def _filter_and_encode(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        for condition in self.filters:
            rows = rows.filter(pc.fill_null(evaluate(condition, rows), False))
        if rows.num_rows:
            arrays = [encode(rows[item.stored].combine_chunks(), item.type) for item in self.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[item.column for item in self.columns])


@dataclass(frozen=True)
class FilterTask:
    """Keeps the rows of a frame for which a condition is true."""

    condition: Condition
    attributes: ValueColumns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Filter the rows batch by batch."""
        for batch in batches:
            verdict = evaluate_on(self.condition, _BatchColumns(batch, self.attributes))
            yield batch.filter(pc.fill_null(verdict, False))


@dataclass(frozen=True)
class ComputeTask:
    """Adds columns with computed values to the rows of a frame."""

    values: Sequence[Value]
    names: Sequence[str]
    attributes: ValueColumns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compute the values batch by batch."""
        for batch in batches:
            rows = _BatchColumns(batch, self.attributes)
            found = [encode(rows.array(value), value.type) for value in self.values]
            yield pa.RecordBatch.from_arrays([*batch.columns, *found], [*batch.schema.names, *self.names])


class _BatchColumns:
    """`Columns` of a batch."""

    def __init__(self, batch: pa.RecordBatch, attributes: ValueColumns) -> None:
        self._batch = batch
        self._attributes = attributes
        self.num_rows: int = batch.num_rows

    def column(self, value: Value) -> pa.Array | None:
        """Return a value's column, or None for a constant."""
        if isinstance(value, Constant):
            return None
        if isinstance(value, Search) and looks_elsewhere(value):
            return self._search(value)
        return decode(self._batch.column(self._attributes.column(value)), _type_of(value))

    def array(self, value: Value) -> pa.Array:
        """Return the column of a value that is not a constant, computed or not."""
        return value_array(value, self) if isinstance(value, Computed) else self.column(value)

    def _search(self, value: Search) -> pa.Array:
        """Return a search whose text or vector is of another variable, as the local engine computes it."""
        match value:
            case TextMatch(field, text, edits):
                most = edits.value if isinstance(edits, Constant) else 0
                found = match_words(self.array(field), self.array(text), int(most or 0))  # type: ignore[arg-type]
                return pa.array(found, pa.bool_())
            case VectorDistance(field, query):
                queries = Vectors(self.array(query))
                index = VectorIndex([Vectors(self.array(field))])
                far = index.distances(np.arange(self.num_rows, dtype=np.int64), queries.matrix)
                return pa.array(far, pa.float64(), mask=np.isnan(far) | ~queries.present)
            case TextScore(_, text):
                assert isinstance(self._attributes, Attributes), "groups have no searches"
                places = self._batch.column(self._attributes.column(value))
                absent = np.asarray(places.is_null().to_numpy(zero_copy_only=False))
                nodes = np.asarray(places.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
                scores = self._attributes.texts[value].scores_of(nodes, self.array(text))
                return pa.array(scores, pa.float64(), mask=np.isnan(scores) | absent)
        raise AssertionError("the rankings of a fusion look at one variable")


@dataclass(frozen=True)
class SumTask:
    """Sums lists of numbers, rounded once."""

    columns: Mapping[str, bool]
    """The columns of lists, and whether the mean is computed."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sum the lists of each row."""
        for batch in batches:
            arrays = [
                _sums(column, self.columns[name]) if name in self.columns else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


@dataclass(frozen=True)
class MeanTask:
    """Divides exact sums of integers by their counts, rounded once."""

    columns: Mapping[str, str]
    """The columns of sums, and those of the counts beside them."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Divide each sum; the columns of counts are dropped."""
        dropped = set(self.columns.values())
        for batch in batches:
            arrays = {
                name: _quotients(column, batch.column(self.columns[name])) if name in self.columns else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
                if name not in dropped
            }
            yield pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def _quotients(sums: pa.Array, counts: pa.Array) -> pa.Array:
    pairs = zip(sums.to_pylist(), counts.to_pylist(), strict=True)
    return pa.array([None if total is None else int(total) / count for total, count in pairs], pa.float64())


def _sums(lists: pa.Array, mean: bool) -> pa.Array:
    totals: list[float | None] = []
    for numbers in lists.to_pylist():
        if mean and numbers:
            totals.append(exact_mean(numbers))
        else:
            totals.append(math.fsum(numbers) if numbers else None)
    return pa.array(totals, pa.float64())


def _type_of(value: Value) -> PropertyType:
    return value.type
