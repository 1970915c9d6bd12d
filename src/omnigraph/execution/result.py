"""The result of a read: columns, and rows made from them on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, overload

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.base.notebook import SHOWN_ROWS, draw_entities, html_table, shorten
from omnigraph.compiler.ir.queries import Column
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.results import to_json
from omnigraph.execution.optional import import_optional
from omnigraph.execution.pandas_frame import PandasTypes, make_frame
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.columns import arrow_type
from omnigraph.graph.model.entity_maps import convert_maps, maps_to_plain

_JSON_AS_STORED = (Scalar.STRING, Scalar.BOOL, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64)
_DATETIME_TYPE = pa.timestamp("ms", "UTC")
_SHOWN_NAMES = 8


@dataclass(frozen=True, eq=False)
class Result:
    """Rows of a read, of the commit that it saw. It is a sequence: `len`, `result[0]`, `result[:10]`."""

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

    def first(self) -> dict[str, Any] | None:
        """Return the first row, or None when there is none."""
        return next(iter(self[:1]), None)

    def scalar(self) -> Any:
        """Return the one value of a result that has one row with one column, such as a count."""
        if len(self.schema) != 1 or len(self) != 1:
            raise BadInput(
                f"scalar() is for one row with one column, this result has {_count(len(self), 'row')} and "
                f"{_count(len(self.schema), 'column')}: use first() or rows"
            )
        return self[0][self.schema[0].name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.columns
        values = [_json(array, column.type) for array, column in zip(self.arrays, self.schema, strict=True)]
        return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))

    def __len__(self) -> int:
        return len(self.arrays[0])

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> Result: ...

    def __getitem__(self, at: int | slice) -> dict[str, Any] | Result:
        """Return a row, or a result with some of the rows, which copies none of them."""
        if isinstance(at, slice):
            return Result(
                self.schema, [_cut(array, at) for array in self.arrays], self.commit_id, self.engine
            )
        if isinstance(at, str):
            raise TypeError(f"rows have numbers, columns are in them: result[0][{at!r}]")
        try:
            place = range(len(self))[at]
        except IndexError:
            raise IndexError(f"there is no row {at}, the result has {_count(len(self), 'row')}") from None
        return next(iter(self[place : place + 1]))

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.Table.from_batches([record_batch(self.schema, self.arrays)])

    def to_pandas(self, dtypes: PandasTypes = "nullable") -> Any:
        """Return the rows as a pandas data frame; pandas must be installed.

        Integers and booleans keep their values beside NULL: their columns have the nullable types of pandas
        (`Int64`, `boolean`). With `arrow` every column has an Arrow type, with `numpy` none is nullable: an
        integer column with a NULL is then one of floats.
        """
        return make_frame(self.to_arrow(), dtypes)

    def to_polars(self) -> Any:
        """Return the rows as a polars data frame; polars must be installed."""
        polars = import_optional("polars", "a polars data frame")
        return polars.from_arrow(self.to_arrow())

    def to_spark(self) -> Any:
        """Return the rows as a Spark data frame, without collecting them; the read must have run on Spark."""
        if self._frame is None and self.engine == "spark":
            raise BadInput("these rows were collected here: ask the result that they are from, or read again")
        if self._frame is None:
            raise BadInput("this read ran in process: use engine='spark' to get a Spark data frame")
        return self._frame

    def __repr__(self) -> str:
        return f"Result({self._size}: {_names(self.columns)}; commit={self.commit_id!r})"

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for notebooks; whole nodes and edges as a picture above it."""
        if not self._is_here:
            return html_table(self.columns, [], f"{self._size}, at commit {self.commit_id}")
        some = self[:SHOWN_ROWS]
        shown = f", the first {len(some)} are shown" if len(some) < len(self) else ""
        rows = [[row[name] for name in self.columns] for row in some]
        picture = draw_entities(value for row in rows for value in row)
        return picture + html_table(self.columns, rows, f"{self._size} at commit {self.commit_id}{shown}")

    @property
    def _is_here(self) -> bool:
        """Whether the rows are in this process: to show a result must not start Spark."""
        return bool(getattr(self.arrays, "is_collected", True))

    @property
    def _size(self) -> str:
        return _count(len(self), "row") if self._is_here else "rows on Spark, not collected"

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self.schema, list(self.arrays), self.commit_id, self.engine)


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

    def __repr__(self) -> str:
        return f"Stream({_names(self.columns)}; commit={self.commit_id!r})"

    def __reduce__(self) -> NoReturn:
        raise BadInput(
            "a stream cannot be pickled: its rows are made while they are read, once. Pickle its batches, or "
            "the handle and the query, and ask again there"
        )


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema of a result."""
    return pa.schema([pa.field(column.name, _result_type(column.type)) for column in columns])


def record_batch(columns: Sequence[Column], arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return stored columns as a batch for other programs."""
    shown = [_to_result_type(array, column.type) for array, column in zip(arrays, columns, strict=True)]
    return pa.RecordBatch.from_arrays(shown, schema=arrow_schema(columns))


def _result_type(type_: PropertyType) -> pa.DataType:
    """Return the type in results: a timestamp, as many readers drop the time of day of the stored date64."""
    if type_.is_map:
        return _to_result_type(pa.nulls(0, arrow_type(type_)), type_).type
    if type_.scalar is not Scalar.DATETIME:
        return arrow_type(type_)
    return pa.list_(pa.field("item", _DATETIME_TYPE)) if type_.is_list else _DATETIME_TYPE


def _to_result_type(array: pa.Array, type_: PropertyType) -> pa.Array:
    if type_.is_map:
        return convert_maps(array, type_, _to_result_type)
    if type_.scalar is not Scalar.DATETIME:
        return array
    return (
        pa.array(to_plain(array, type_), _result_type(type_)) if type_.is_list else array.view(_DATETIME_TYPE)
    )


def _json(array: pa.Array, type_: PropertyType) -> list[Any]:
    if type_.is_map:
        return [to_json(value, type_) for value in maps_to_plain(array, type_)]
    if type_.scalar in _JSON_AS_STORED and not type_.is_list and not type_.is_vector:
        found: list[Any] = array.to_pylist()
        return found
    return [to_json(value, type_) for value in to_plain(array, type_)]


def _cut(array: pa.Array, part: slice) -> pa.Array:
    """Return some rows of a column: a view of it, or with a step a copy."""
    rows = range(len(array))[part]
    return array.slice(rows.start, len(rows)) if rows.step == 1 else array.take(pa.array(rows, pa.int64()))


def _names(columns: Sequence[str]) -> str:
    named = ", ".join(shorten(name, 60) for name in columns[:_SHOWN_NAMES])
    return named + (f", … ({len(columns)} columns)" if len(columns) > _SHOWN_NAMES else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
