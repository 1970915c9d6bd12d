"""Unique tuples: within a write's final image, and against the stored rows that it leaves as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ValidationError
from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.write.integrity.delta import Place, TableDelta
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem, show_value
from omnigraph.graph.write.integrity.stored import StoredData


def check_uniques(delta: TableDelta, stored: StoredData) -> Iterator[Problem]:
    """Yield the rows whose unique tuple another row of the final image has."""
    for group in delta.table.uniques:
        tuples = tuple_texts(delta.table, delta.rows, group)
        yield from find_repeated(delta.table, group, tuples, delta.place)
        if not delta.replaces:
            yield from _find_taken(delta, group, tuples, stored)


def find_repeated(
    table: TableType, group: Sequence[str], tuples: pa.Array, place: Place
) -> Iterator[Problem]:
    """Yield every row after the first that has the same tuple."""
    if not has_repeated(tuples):
        return
    for row, first in later_rows(tuples):
        other = place(first)
        beside = () if other is None else (other,)
        yield replace(_problem(table, group, tuples[row].as_py(), place(row), other), beside=beside)


def has_repeated(values: pa.Array) -> bool:
    """Return whether a value occurs twice; NULL is none."""
    return len(pc.unique(values)) - bool(values.null_count) < len(values) - int(values.null_count)


def later_rows(values: pa.Array) -> Iterator[tuple[int, int]]:
    """Yield every row whose value an earlier one has, in order, with the first that has it."""
    present = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    codes = values.drop_null().dictionary_encode().indices.to_numpy()
    _, begins, which = np.unique(codes, return_index=True, return_inverse=True)
    firsts = begins[which]
    for at in np.flatnonzero(firsts != np.arange(len(codes))).tolist():
        yield int(present[at]), int(present[firsts[at]])


def tuple_texts(table: TableType, rows: pa.Table, group: Sequence[str]) -> pa.Array:
    """Return one text for each row's tuple, equal only for equal tuples; null when a member is null."""
    texts = [_text(table, rows[name].combine_chunks(), name) for name in group]
    if len(texts) == 1:
        return texts[0]
    # The lengths keep ("a,b", "c") apart from ("a", "b,c").
    parts = [part for text in texts for part in (pc.cast(pc.binary_length(text), pa.string()), text)]
    return pc.binary_join_element_wise(*parts, ":", null_handling="emit_null")


def _text(table: TableType, column: pa.Array, name: str) -> pa.Array:
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_floating(column.type):
        return pc.cast(pc.add(column, pa.scalar(0, column.type)), pa.string())  # both zeros are one value
    if pa.types.is_date(column.type):
        return pc.cast(column.view(pa.int64() if column.type == pa.date64() else pa.int32()), pa.string())
    if pa.types.is_boolean(column.type) or pa.types.is_integer(column.type):
        return pc.cast(column, pa.string())
    raise ValidationError(
        f"@unique on {table.name}.{name} cannot be enforced: unsupported column type {column.type}",
        type=table.name,
        property=name,
    )


def _find_taken(
    delta: TableDelta, group: Sequence[str], tuples: pa.Array, stored: StoredData
) -> Iterator[Problem]:
    if tuples.null_count == len(tuples):
        return
    present = pc.is_valid(tuples)
    lead = group[0]
    values = delta.rows[lead].combine_chunks().filter(present)
    rows = stored.rows_where(delta.table.table_key, lead, values, ("id", *group))
    rows = rows.filter(pc.invert(pc.is_in(rows["id"], delta.touched)))
    if rows.num_rows == 0:
        return
    taken = tuple_texts(delta.table, rows, group)
    at = pc.index_in(tuples, taken, skip_nulls=True)
    for row in pc.indices_nonzero(at.is_valid()).to_pylist():
        id_ = rows["id"][at[row].as_py()].as_py()
        other = f"the stored {delta.table.name} '{show_value(id_)}'"
        found = _problem(delta.table, group, tuples[row].as_py(), delta.place(row), other)
        yield replace(found, stored=(id_,))


def _problem(
    table: TableType,
    group: Sequence[str],
    text: str,
    place: RecordPlace | str | None,
    other: RecordPlace | str | None,
) -> Problem:
    name = f"{table.name}.{group[0]}" if len(group) == 1 else f"{table.name}.({', '.join(group)})"
    also = f", as has {other}" if other else ""
    is_key = text.startswith("[")  # the id of a key of several members is a JSON array already
    value = text if len(group) == 1 or is_key else _members(text)
    message = f"@unique violation on {name}: '{show_value(value)}' occurs twice{also}"
    return Problem("unique", table.name, message, ", ".join(group), value, place)


def _members(text: str) -> str:
    """Return a tuple's text for people: its members without their lengths."""
    rest, found = text.encode(), []
    while rest:
        length, _, rest = rest.partition(b":")
        found.append(rest[: int(length)].decode())
        rest = rest[int(length) + 1 :]
    return ", ".join(found)
