"""Computed values over rows, by the functions of the compiler: both engines and mutations call this."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.base.cancellation import chunks
from omnigraph.compiler.functions.fitting import drop_failed, fit_value, make_list
from omnigraph.compiler.functions.registry import apply_to
from omnigraph.compiler.ir.computed import Call, Case, ConditionTruth, EntityMap, ListOf, MemberTest
from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.values import Computed, Constant, ListMember, Quantifier, Value
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_arrow, to_plain
from omnigraph.graph.model.entity_maps import make_maps

_ROWS_PER_CHECKPOINT = 1 << 14
"""Rows that are computed between two checkpoints."""


class Columns(Protocol):
    """The rows that a value or a condition is evaluated on: values as columns of equal length."""

    num_rows: int

    def column(self, value: Value) -> pa.Array | None:
        """Return the column of a value that is not computed, or None for a constant."""


Judge = Callable[[Condition, Columns], pa.BooleanArray]
"""Evaluates a condition inside a value."""


def compute_array(value: Computed, rows: Columns, judge: Judge) -> pa.Array:
    """Return a computed value for every row; NULL where it could not be computed."""
    if isinstance(value, EntityMap):
        return _make_maps(value, rows)
    found = compute_each(value, rows, judge)
    return to_arrow(list(map(drop_failed, found)), value.type)


def compute_each(value: Value, rows: Columns, judge: Judge) -> list[Any]:
    """Return the plain value for every row, or Failed, which a member of a list may be as well."""
    match value:
        case Constant():
            return [value.value] * rows.num_rows
        case Call(function, arguments):
            apply = apply_to(function, tuple(item.type for item in arguments))
            return _fit(
                _apply_each(apply, [compute_each(item, rows, judge) for item in arguments]), value.type
            )
        case Case():
            return _fit(_choose_each(value, rows, judge), value.type)
        case ListOf():
            return _list_each(value, rows, judge)
        case MemberTest():
            return _test_lists(value, rows, judge)
        case ConditionTruth(condition):
            verdicts: list[Any] = judge(condition, rows).to_pylist()
            return verdicts
    return list(to_plain(rows.column(value), value.type))


def _make_maps(value: EntityMap, rows: Columns) -> pa.Array:
    fixed = [rows.column(item) for item in value.fixed]
    return make_maps(fixed, [rows.column(item) for item in value.properties], value.type)


class MemberRows:
    """`Columns` of the members of lists: a row for each, with the values of the row that has the list."""

    def __init__(self, rows: Columns, member: ListMember, of_row: list[int], members: list[Any]) -> None:
        """Take the rows, and for each member the number of its row."""
        self._rows = rows
        self._member = member
        self._of_row = pa.array(of_row, pa.int64())
        self._members = to_arrow(members, member.type)
        self.num_rows = len(members)

    def column(self, value: Value) -> pa.Array | None:
        """Return the members, or the column of another value."""
        if value == self._member:
            return self._members
        found = self._rows.column(value)
        return None if found is None else found.take(self._of_row)


def _test_lists(value: MemberTest, rows: Columns, judge: Judge) -> list[bool | None]:
    """Return for each row whether a condition is true for the members of its list."""
    lists = list(map(drop_failed, compute_each(value.list, rows, judge)))
    known = [(at, item) for at, item in enumerate(lists) if isinstance(item, tuple)]
    of_row = [at for at, item in known for _ in item]
    members = [member for _, item in known for member in item]
    verdicts = judge(value.condition, MemberRows(rows, value.member, of_row, members)).to_pylist()
    decides = value.quantifier is not Quantifier.ALL
    found: list[bool | None] = [None] * len(lists)
    for at, _ in known:
        found[at] = not decides
    for at, verdict in zip(of_row, verdicts, strict=True):
        if verdict is decides:
            found[at] = decides
        elif verdict is None and found[at] is not decides:
            found[at] = None
    if value.quantifier is Quantifier.NONE:
        return [None if item is None else not item for item in found]
    return found


def leaves_of(node: Any) -> Iterator[Value]:
    """Yield the values below a computed one that are not computed themselves."""
    if isinstance(node, tuple):
        for item in node:
            yield from leaves_of(item)
    elif is_dataclass(node) and type(node).__module__ in _WITH_PARTS:
        for item in fields(node):
            yield from leaves_of(getattr(node, item.name))
    elif is_dataclass(node) and not isinstance(node, PropertyType):
        yield node  # type: ignore[misc]


_WITH_PARTS = ("omnigraph.compiler.ir.computed", "omnigraph.compiler.ir.conditions")


def _apply_each(apply: Callable[[Sequence[Any]], Any], columns: list[list[Any]]) -> list[Any]:
    found: list[Any] = []
    for part in chunks(len(columns[0]), _ROWS_PER_CHECKPOINT):
        found += map(apply, zip(*(column[part] for column in columns), strict=True))
    return found


def _list_each(value: ListOf, rows: Columns, judge: Judge) -> list[Any]:
    items = [compute_each(item, rows, judge) for item in value.items]
    return [make_list(members, value.type) for members in zip(*items, strict=True)]


def _choose_each(value: Case, rows: Columns, judge: Judge) -> list[Any]:
    chosen = compute_each(value.otherwise, rows, judge)
    for branch in reversed(value.branches):
        verdicts = judge(branch.condition, rows).to_pylist()
        values = compute_each(branch.value, rows, judge)
        chosen = [new if verdict else old for verdict, new, old in zip(verdicts, values, chosen, strict=True)]
    return chosen


def _fit(found: list[Any], type_: PropertyType) -> list[Any]:
    """Return values as their common type has them."""
    if not (type_.scalar.is_float or type_.scalar is Scalar.I64):
        return found
    if type_.is_list:
        return [make_list(item, type_) if isinstance(item, tuple) else item for item in found]
    return [fit_value(item, type_) for item in found]
