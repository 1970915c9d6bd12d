"""Columns that no value of fits, told once from their names and types, before any row is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.keys import EndTypes
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.load.parse.strict_json import BadRecord, RecordReader, unknown_field_problem
from omnigraph.execution.load.sources.json_rows import property_names
from omnigraph.execution.load.sources.row_view import RowView
from omnigraph.graph.model.stored_columns import is_string
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem, as_error

Numbers = npt.NDArray[np.int64]
_PER_MILLI = {"us": 1000, "ns": 1_000_000}
_STRING = PropertyType(Scalar.STRING)
_LIST = "list"
_ARROW_KINDS = (
    ("string", is_string),
    ("integer", pa.types.is_integer),
    ("decimal", pa.types.is_decimal),
    ("float", pa.types.is_floating),
    ("boolean", pa.types.is_boolean),
    ("date", pa.types.is_date),
    ("datetime", pa.types.is_timestamp),
    ("bytes", lambda given: pa.types.is_binary(given) or pa.types.is_large_binary(given)),
    ("object", pa.types.is_struct),
    (
        _LIST,
        lambda given: (
            pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given)
        ),
    ),
)
_INTEGERS = {"integer", "decimal"}
_FITTING = {
    Scalar.STRING: {"string"},
    Scalar.BOOL: {"boolean"},
    Scalar.DATE: {"string", "integer", "date"},
    Scalar.DATETIME: {"string", "integer", "date", "datetime"},
    Scalar.BLOB: {"string", "bytes"},
    Scalar.F32: {*_INTEGERS, "float"},
    Scalar.F64: {*_INTEGERS, "float"},
}


class ColumnCheck:
    """Refuses columns that a type does not have, and those of which no value can be stored.

    Such a column is told once, with its first value, not with every one. A column without values fits
    everything.
    """

    def __init__(self, catalog: Catalog, locate: Callable[[int], RecordPlace]) -> None:
        self._reader, self._locate = RecordReader(catalog), locate

    def check(
        self, table: TableType, view: RowView, batch: pa.RecordBatch, places: Numbers, ends: EndTypes
    ) -> None:
        """Look at the columns of the first rows of a source."""
        found: list[Problem] = []
        for name, column in zip(property_names(batch.schema.names, view.mapping), batch.columns, strict=True):
            type_ = _type_of(table, name, ends)
            if type_ is None and not batch.num_rows:
                found.append(unknown_field_problem(table, name))
            elif type_ is None:
                found += self._read_row(table, view, batch, 0, name, places, ends)
            elif not (name in view.texts or _may_fit(column, type_, _is_end(table, name, ends))):
                row = pc.indices_nonzero(pc.is_valid(column))[0].as_py()
                told = self._read_row(table, view, batch, row, name, places, ends)
                every = f" (no value of a column of {column.type} is one)"
                found += [replace(problem, message=problem.message + every) for problem in told]
        if found:
            raise as_error(found, len(found))

    def _read_row(
        self,
        table: TableType,
        view: RowView,
        batch: pa.RecordBatch,
        row: int,
        name: str,
        places: Numbers,
        ends: EndTypes,
    ) -> list[Problem]:
        """Return what the strict reader says about a column in a row."""
        (record,) = view.records(table, batch.slice(row, 1), ends)
        try:
            self._reader.read(record)
        except BadRecord as bad:
            place = self._locate(int(places[row]))
            return [replace(problem, place=place) for problem in bad.problems if problem.property == name]
        return []


def find_cut_columns(
    table: TableType, view: RowView, batch: pa.RecordBatch, known: Collection[str]
) -> set[str]:
    """Return the properties of which values lose digits beyond milliseconds, apart from `known` ones."""
    found = set()
    for name, column in zip(property_names(batch.schema.names, view.mapping), batch.columns, strict=True):
        declared, label = table.by_name.get(name), f"{table.name}.{name}"
        parts = _PER_MILLI.get(column.type.unit) if pa.types.is_timestamp(column.type) else None
        if parts is None or label in known or declared is None or declared.type.scalar is not Scalar.DATETIME:
            continue
        exact = column.cast(pa.int64())
        if pc.any(pc.not_equal(pc.multiply(pc.divide(exact, parts), parts), exact)).as_py():
            found.add(label)
    return found


def _type_of(table: TableType, name: str, ends: EndTypes) -> PropertyType | None:
    declared = table.by_name.get(name)
    if declared is not None:
        return declared.type
    return _STRING if name == "id" else ends.get(name)


def _is_end(table: TableType, name: str, ends: EndTypes) -> bool:
    return name in ends and name not in table.by_name


def _may_fit(column: pa.Array, type_: PropertyType, is_end: bool) -> bool:
    """Return whether some value of a column may fit a type."""
    given = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    found = next((kind for kind, holds in _ARROW_KINDS if holds(given)), None)
    if found is None or column.null_count == len(column) or (is_end and found == "string"):
        return True
    if type_.is_list or type_.is_vector:
        return found == _LIST
    return found in _FITTING.get(type_.scalar, _INTEGERS)
