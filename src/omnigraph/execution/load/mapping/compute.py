"""Expressions of a mapping over the rows of a source: columns of Arrow, or the members of a line of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import TypeCheckError
from omnigraph.compiler.functions.fitting import find_failed
from omnigraph.compiler.ir.values import Value
from omnigraph.compiler.typecheck.columns import parse_column_expression, type_column_expression
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.execution.conditions import plain_values
from omnigraph.graph.model.arrow_values import to_arrow
from omnigraph.graph.model.stored_columns import NeedsStrictReader, is_string, to_stored

_SCALARS = (Scalar.STRING, Scalar.I64, Scalar.F64, Scalar.BOOL, Scalar.DATE, Scalar.DATETIME)
_GUESSES = (
    *(PropertyType(scalar, nullable=True) for scalar in _SCALARS),
    PropertyType(Scalar.STRING, nullable=True, is_list=True),
)
"""Types that a column without any value may have: the first that fits the expression."""
_MOST_GUESSES = 400
_ARROW_SCALARS = (
    (is_string, Scalar.STRING),
    (pa.types.is_boolean, Scalar.BOOL),
    (pa.types.is_uint64, Scalar.U64),
    (pa.types.is_uint32, Scalar.U32),
    (pa.types.is_int64, Scalar.I64),
    (pa.types.is_integer, Scalar.I32),
    (pa.types.is_float32, Scalar.F32),
    (pa.types.is_floating, Scalar.F64),
    (pa.types.is_decimal, Scalar.F64),
    (pa.types.is_date32, Scalar.DATE),
    (pa.types.is_date64, Scalar.DATETIME),
    (pa.types.is_timestamp, Scalar.DATETIME),
)


class CannotCompute(Exception):
    """These columns are none that the expression computes from; the message says why."""


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """What was computed, and why not where it could not be: by the number of the row."""

    values: pa.Array
    failed: Mapping[int, str]


def compute_columns(text: str, columns: Mapping[str, pa.Array], rows: int) -> ComputedColumn:
    """Return what an expression computes from columns, which are given by their names in it."""
    types = {name: _type_of(name, column) for name, column in columns.items()}
    value, typed = _fit_types(text, types)
    try:
        stored = {name: to_stored(_plain(columns[name]), type_) for name, type_ in typed.items()}
    except NeedsStrictReader:
        raise CannotCompute(
            f"the values of {', '.join(sorted(columns))} are not all such as properties have"
        ) from None
    found = plain_values(value, pa.table(stored or {"": pa.nulls(rows)}))
    failures = {at: find_failed(item) for at, item in enumerate(found)}
    failed = {at: failure.reason for at, failure in failures.items() if failure is not None}
    return ComputedColumn(
        to_arrow([None if at in failed else item for at, item in enumerate(found)], value.type), failed
    )


def compute_members(text: str, members: Mapping[str, Any]) -> Any:
    """Return what an expression computes from JSON values, dates as epoch numbers, or Failed."""
    types = {name: _type_of_json(name, item) for name, item in members.items()}
    value, typed = _fit_types(text, types)
    plain = {name: tuple(item) if isinstance(item, list) else item for name, item in members.items()}
    row = {name: to_arrow([plain[name]], type_) for name, type_ in typed.items()}
    [found] = plain_values(value, pa.table(row or {"": pa.nulls(1)}))
    return find_failed(found) or (list(found) if isinstance(found, tuple) else found)


def _fit_types(
    text: str, types: Mapping[str, PropertyType | None]
) -> tuple[Value, Mapping[str, PropertyType]]:
    """Return the typed expression, and the types of its columns: for one without values a type that fits."""
    expression, first = parse_column_expression(text), None
    for typed in _possible_types(types):
        try:
            return type_column_expression(expression, typed), typed
        except TypeCheckError as error:
            first = first or error
    assert first is not None
    raise CannotCompute(f"the expression is wrong: {first}")


def _possible_types(types: Mapping[str, PropertyType | None]) -> Iterator[Mapping[str, PropertyType]]:
    known = {name: type_ for name, type_ in types.items() if type_ is not None}
    unknown = [name for name in types if name not in known]
    for guesses in islice(product(_GUESSES, repeat=len(unknown)), _MOST_GUESSES):
        yield known | dict(zip(unknown, guesses, strict=True))


def _type_of(name: str, column: pa.Array) -> PropertyType | None:
    given = column.type
    if pa.types.is_null(given):
        return None
    if pa.types.is_dictionary(given):
        given = given.value_type
    is_list = pa.types.is_list(given) or pa.types.is_large_list(given)
    member = given.value_type if is_list else given
    scalar = next((scalar for judge, scalar in _ARROW_SCALARS if judge(member)), None)
    if scalar is None:
        raise CannotCompute(f"nothing is computed from a column of {given}, as {name!r} is")
    return PropertyType(scalar, nullable=True, is_list=is_list)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _type_of_json(name: str, value: Any) -> PropertyType | None:
    if isinstance(value, list):
        return _type_of_list(name, value)
    if value is None:
        return None
    scalar: Scalar | None = None
    if isinstance(value, bool):
        scalar = Scalar.BOOL
    elif isinstance(value, int):
        scalar = Scalar.I64 if -(2**63) <= value < 2**63 else Scalar.U64 if 0 <= value < 2**64 else None
    elif isinstance(value, float | str):
        scalar = Scalar.F64 if isinstance(value, float) else Scalar.STRING
    if scalar is None:
        raise CannotCompute(f"nothing is computed from {kind_of(value)} such as {name!r} is here")
    return PropertyType(scalar, nullable=True)


def _type_of_list(name: str, members: Sequence[Any]) -> PropertyType:
    types = {_type_of_json(name, item) for item in members} or {PropertyType(Scalar.STRING, nullable=True)}
    [first, *others] = types
    if first is None or others or first.is_list:
        raise CannotCompute(f"nothing is computed from an array of mixed values, as {name!r} is here")
    return PropertyType(first.scalar, nullable=True, is_list=True)
