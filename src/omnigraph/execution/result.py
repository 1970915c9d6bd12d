"""The result of a read: columns, and rows made from them on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.compiler.ir.queries import Column
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.results import to_json
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.columns import arrow_type

_JSON_AS_STORED = (Scalar.STRING, Scalar.BOOL, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64)
_DATETIME_TYPE = pa.timestamp("ms", "UTC")


@dataclass(frozen=True, eq=False)
class Result:
    """Rows of a read, of the commit that it saw."""

    schema: tuple[Column, ...]
    arrays: Sequence[pa.Array] = field(repr=False)
    """The columns as Arrow arrays, in the order of the schema."""
    commit_id: str
    engine: str = "local"
    """Where the read ran: `local` or `spark`."""
    _frame: Any = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.schema]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of JSON values."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.columns
        values = [_json(array, column.type) for array, column in zip(self.arrays, self.schema, strict=True)]
        return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))

    def __len__(self) -> int:
        return len(self.arrays[0])

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.Table.from_batches([record_batch(self.schema, self.arrays)])

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a polars data frame; polars must be installed."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def to_spark(self) -> Any:
        """Return the rows as a Spark data frame, without collecting them; the read must have run on Spark."""
        if self._frame is None:
            raise BadInput("this read ran in process: use engine='spark' to get a Spark data frame")
        return self._frame


@dataclass(frozen=True, eq=False)
class Stream:
    """The rows of a read as record batches, computed on demand, of the commit that it saw."""

    schema: tuple[Column, ...]
    commit_id: str
    _batches: Iterator[pa.RecordBatch] = field(repr=False)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.schema]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def to_reader(self) -> pa.RecordBatchReader:
        """Return an Arrow reader, which pandas, polars, DuckDB and others accept."""
        return pa.RecordBatchReader.from_batches(arrow_schema(self.schema), self._batches)


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema of a result."""
    return pa.schema([pa.field(column.name, _result_type(column.type)) for column in columns])


def record_batch(columns: Sequence[Column], arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return stored columns as a batch for other programs."""
    shown = [_to_result_type(array, column.type) for array, column in zip(arrays, columns, strict=True)]
    return pa.RecordBatch.from_arrays(shown, schema=arrow_schema(columns))


def _result_type(type_: PropertyType) -> pa.DataType:
    """Return the type in results: a timestamp, as many readers drop the time of day of the stored date64."""
    if type_.scalar is not Scalar.DATETIME:
        return arrow_type(type_)
    return pa.list_(pa.field("item", _DATETIME_TYPE)) if type_.is_list else _DATETIME_TYPE


def _to_result_type(array: pa.Array, type_: PropertyType) -> pa.Array:
    if type_.scalar is not Scalar.DATETIME:
        return array
    return (
        pa.array(to_plain(array, type_), _result_type(type_)) if type_.is_list else array.view(_DATETIME_TYPE)
    )


def _json(array: pa.Array, type_: PropertyType) -> list[Any]:
    if type_.scalar in _JSON_AS_STORED and not type_.is_list and not type_.is_vector:
        found: list[Any] = array.to_pylist()
        return found
    return [to_json(value, type_) for value in to_plain(array, type_)]
