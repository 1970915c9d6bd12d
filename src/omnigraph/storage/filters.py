"""Which rows to look for, said as data; the one place where a filter is put into words for Lance.

Lance takes a filter as SQL or as Substrait. Substrait travels with the schema of the whole table and cannot
say some of the types that a column may have, so that a list of moments would spoil filters that do not even
name it. SQL says every value, if it is written from typed values and with care, which happens here only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

_MAX_VALUES_ALWAYS_GIVEN = 2_000
_MAX_STATED_VALUES = 100_000
_SCAN_SHARE_DIVISOR = 100
"""A list of values costs Lance as much as reading a hundred times as many rows of the column."""
_MIN_I64 = -(2**63)

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """The column has one of some values; NULL is none of them."""

    column: str
    values: pa.Array | pa.ChunkedArray


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """The column's value stands so to a value of its type; NULL never does."""

    column: str
    operator: Operator
    value: pa.Scalar

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrow sends a scalar date64 as a day, and its time of day is lost; an array is sent as it is.
        return _compared_column, (self.column, self.operator, pa.array([self.value], self.value.type))


@dataclass(frozen=True, slots=True)
class NullColumn:
    """The column has no value."""

    column: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of some filters is true; with NULLs as in SQL: a row passes only what is true of it."""

    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of some filters is true."""

    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """A filter is false, which it is not of NULL."""

    filter: Filter


Filter: TypeAlias = OneOf | ComparedColumn | NullColumn | AllOf | AnyOf | Negated


def _compared_column(column: str, operator: Operator, values: pa.Array) -> ComparedColumn:
    return ComparedColumn(column, operator, values[0])


def read_filtered(
    dataset: Any, columns: Sequence[str] | None, filter: Filter | None, **options: Any
) -> pa.Table:
    """Return columns of the rows that pass a filter; options are those of Lance's scanner."""
    if isinstance(filter, OneOf) and _is_read_instead(filter, dataset):
        return _read_and_compared(dataset, columns, filter, options)
    said = None if filter is None else as_sql(filter)
    return dataset.scanner(columns=_list_values(columns), filter=said, **options).to_table()


def as_sql(filter: Filter) -> str:
    """Return a filter in the words of Lance."""
    match filter:
        case OneOf(column, values):
            said = ", ".join(_literals(values))
            return f"{_column(column)} IN ({said})" if said else "false"
        case ComparedColumn(column, operator, value):
            literals = _literals(pa.array([value], value.type))
            return f"{_column(column)} {operator} {literals[0]}" if literals else "false"
        case NullColumn(column):
            return f"{_column(column)} IS NULL"
        case AllOf(filters):
            return " AND ".join(f"({as_sql(item)})" for item in filters) or "true"
        case AnyOf(filters):
            return " OR ".join(f"({as_sql(item)})" for item in filters) or "false"
        case Negated(inner):
            return f"NOT ({as_sql(inner)})"


def all_as_sql(filters: Sequence[Filter]) -> str | None:
    """Return what is true of rows that pass all filters; None when every row does."""
    return " AND ".join(f"({as_sql(item)})" for item in filters) or None


def _is_read_instead(filter: OneOf, dataset: Any) -> bool:
    """Return whether reading the whole column costs less than saying a list of values."""
    count = len(filter.values)
    if count <= _MAX_VALUES_ALWAYS_GIVEN:
        return False
    return count > _MAX_STATED_VALUES or count * _SCAN_SHARE_DIVISOR >= int(dataset.count_rows())


def _read_and_compared(
    dataset: Any, columns: Sequence[str] | None, filter: OneOf, options: dict[str, Any]
) -> pa.Table:
    asked = _list_values(columns)
    added = asked is not None and filter.column not in asked
    read = [*asked, filter.column] if asked is not None and added else asked
    field, values = pc.field(filter.column), filter.values.drop_null()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_floating(values.type):  # both zeros are one, as they are to Lance
        zero = pa.scalar(0, values.type)
        field, values = field + zero, pc.add(values, zero)
    rows = dataset.scanner(columns=read, **options).to_reader()
    found = pads.Scanner.from_batches(rows, filter=field.isin(values)).to_table()
    return found.drop_columns(filter.column) if added else found


def _column(name: str) -> str:
    return _quote(name, "`")


def _list_values(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)


def _literals(values: pa.Array | pa.ChunkedArray) -> list[str]:
    """Return values in SQL, of exactly their type; NULLs are left out."""
    type_, present = values.type, values.drop_null()
    if type_ == pa.date32():
        return [f"arrow_cast({days}, 'Date32')" for days in present.cast(pa.int32()).to_pylist()]
    if type_ == pa.date64():
        return [f"arrow_cast({moment}, 'Date64')" for moment in present.cast(pa.int64()).to_pylist()]
    for is_such, said in _WORDS:
        if is_such(type_):
            return [said(value, type_) for value in present.to_pylist()]
    raise TypeError(f"no filter compares values of type {type_}")


def _text(value: str, _: pa.DataType) -> str:
    return _quote(value, "'")


def _quote(value: str, mark: str) -> str:
    """Return a text between marks; inside, only the mark itself means something, and is doubled."""
    return f"{mark}{value.replace(mark, mark * 2)}{mark}"


def _integer(value: int, _: pa.DataType) -> str:
    # Read as minus and a number, which would be too large.
    return f"arrow_cast('{value}', 'Int64')" if value == _MIN_I64 else str(value)


def _float(value: float, type_: pa.DataType) -> str:
    return repr(value) if math.isfinite(value) else f"arrow_cast('{value}', 'Float{type_.bit_width}')"


def _truth(value: bool, _: pa.DataType) -> str:
    return "true" if value else "false"


_WORDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str]], ...] = (
    (pa.types.is_string, _text),
    (pa.types.is_large_string, _text),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _float),
    (pa.types.is_boolean, _truth),
)
