"""What assignments store: given values, and values that are computed from rows.

A read takes a computation without a result for NULL. A write refuses it, with the row for which it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.compiler.functions.fitting import find_failed
from omnigraph.compiler.ir.queries import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    MatchedDelete,
    MatchedUpdate,
    Statement,
    Update,
    Upsert,
    WriteQuery,
)
from omnigraph.compiler.ir.reading import values_read
from omnigraph.compiler.ir.values import STRING, Constant, Value
from omnigraph.compiler.typecheck.types import convert_to_stored
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.conditions import columns_of_value, plain_values
from omnigraph.execution.embed.row_vectors import RowVectors
from omnigraph.graph.write.integrity.convert import convert
from omnigraph.graph.write.integrity.places import RowPlace
from omnigraph.graph.write.integrity.problems import Problem, as_error, show_value

_F32_MAX = 3.4028234663852886e38
_ONE_ROW = pa.table({"id": pa.nulls(1, pa.string())})


@dataclass(frozen=True, slots=True)
class RowValues:
    """What a statement sets in the rows of one type: the same in every row, or computed from the row."""

    table: TableType
    fixed: Mapping[str, Any]
    computed: Sequence[Assignment] = ()
    vectors: RowVectors | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are set, those of vectors of computed texts included."""
        return [*self._assigned, *(item.name for item in self._embedded)]

    @property
    def _assigned(self) -> list[str]:
        return [*self.fixed, *(item.property.name for item in self.computed)]

    @property
    def _embedded(self) -> list[Property]:
        """The vectors of texts that are computed, unless they are assigned themselves."""
        texts, assigned = {item.property.name for item in self.computed}, self._assigned
        return [
            item
            for item in self.table.properties
            if item.embed is not None and item.embed.source in texts and item.name not in assigned
        ]

    @property
    def reads(self) -> set[str]:
        """The columns that are read."""
        return set().union(*(columns_of_value(item.value) for item in self.computed))

    def of_rows(self, rows: pa.Table, place: str) -> dict[str, list[Any]]:
        """Return what each row gets, by column."""
        found = {name: [value] * rows.num_rows for name, value in self.fixed.items()}
        for item in self.computed:
            found[item.property.name] = _compute(self.table, item, rows, place)
        for vector in self._embedded:
            assert self.vectors is not None and vector.embed is not None
            found[vector.name] = self.vectors.of(self.table, vector, found[vector.embed.source])
        return found


def split_assigned(
    table: TableType, items: Iterable[Assignment], place: str, vectors: RowVectors
) -> RowValues:
    """Return assignments as what they set."""
    fixed: dict[str, Any] = {}
    computed: list[Assignment] = []
    for item in items:
        if isinstance(item.value, Constant):
            fixed[item.property.name] = convert_given(table.name, item, place)
        else:
            computed.append(item)
    return RowValues(table, fixed, tuple(computed), vectors)


def convert_given(type_name: str, item: Assignment, place: str) -> Any:
    """Return the value to store for a given one; a blob is decoded from its string."""
    value, type_ = plain(item.value), item.property.type
    if value is None or type_.scalar is not Scalar.BLOB:
        return value
    try:
        return convert(value, type_)
    except ValueError as error:
        name = item.property.name
        problem = Problem("type", type_name, f"{type_name}.{name} {error}", name, show_value(value), place)
        raise as_error([problem], 1) from None


def plain(value: Value) -> Any:
    """Return a given value."""
    assert isinstance(value, Constant), "a value that reads no row is a constant"
    return value.value


def compute_given(query: WriteQuery) -> WriteQuery:
    """Return a bound mutation in which every value that reads no row is a constant, as it is stored."""
    statements = tuple(_compute_statement(place, item) for place, item in enumerate(query.statements))
    return replace(query, statements=statements)


def _compute_statement(place: int, statement: Statement) -> Statement:
    label = f"statement {place + 1}"
    if isinstance(statement, Delete | MatchedDelete):
        return statement
    if isinstance(statement, InsertNode):
        return replace(statement, values=_compute_all(statement.type_name, statement.values, label))
    if isinstance(statement, InsertEdge):
        name = statement.type_name
        return replace(
            statement,
            source=_compute_id(name, "from", statement.source, label),
            target=_compute_id(name, "to", statement.target, label),
            values=_compute_all(name, statement.values, label),
        )
    name = statement.table.type_name
    if isinstance(statement, Update | MatchedUpdate):
        return replace(statement, assignments=_compute_all(name, statement.assignments, label))
    assert isinstance(statement, Upsert)
    ends, id_ = statement.ends, statement.id
    return replace(
        statement,
        id=None if id_ is None else _compute_id(name, "id", id_, label),
        ends=ends and (_compute_id(name, "from", ends[0], label), _compute_id(name, "to", ends[1], label)),
        given=_compute_all(name, statement.given, label),
    )


def _compute_all(type_name: str, items: tuple[Assignment, ...], place: str) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(
            item.property,
            _compute_one(f"{type_name}.{item.property.name}", item.value, item.property.type, place),
        )
        for item in items
    )


def _compute_one(subject: str, value: Value, type_: PropertyType, place: str) -> Value:
    if isinstance(value, Constant) and value.type.scalar is type_.scalar and _is_storable(value):
        return value
    if isinstance(value, Constant) and type_.scalar is Scalar.BLOB:
        return value
    if any(values_read(value)):
        return value
    (found,) = plain_values(value, _ONE_ROW)
    return Constant(_convert_computed(subject, found, replace(type_, nullable=True), place), type_)


def _is_storable(value: Constant) -> bool:
    """Return whether a constant of the type of a property fits it: a list may have been put together."""
    members = value.value
    if not isinstance(members, tuple) or None in members:
        return not isinstance(members, tuple)
    return not value.type.is_vector or max(map(abs, members)) <= _F32_MAX  # type: ignore[arg-type]


def _compute_id(type_name: str, name: str, value: Value, place: str) -> Value:
    is_key = isinstance(value, Constant) and name != "id"  # an end may be the key of its node
    found = value if is_key else _compute_one(f"{type_name}.{name}", value, STRING, place)
    if isinstance(found, Constant) and found.value is None:
        message = f"{type_name}.{name} needs a value, and what it is computed from has none"
        raise as_error([Problem("required", type_name, message, name, None, place)], 1)
    return found


def _compute(table: TableType, item: Assignment, rows: pa.Table, place: str) -> list[Any]:
    subject, type_ = f"{table.name}.{item.property.name}", replace(item.property.type, nullable=True)
    return [
        _convert_computed(subject, value, type_, RowPlace(place, table.kind, id_))
        for value, id_ in zip(plain_values(item.value, rows), rows["id"].to_pylist(), strict=True)
    ]


def _convert_computed(subject: str, value: Any, type_: PropertyType, place: str) -> Any:
    """Return a computed value as it is stored; a NULL is judged later, with the other rules."""
    try:
        failed = find_failed(value)
        if failed is not None:
            raise ValueError(failed.reason)
        return convert_to_stored(value, type_)
    except ValueError as error:
        raise refuse_computed(subject, str(error), place) from None


def refuse_computed(subject: str, why: str, place: str) -> OmniError:
    """Return the error of a value that cannot be computed or stored; `subject` is `Type.property`."""
    type_name, _, name = subject.partition(".")
    message = f"{subject} cannot be computed: {why}"
    return as_error([Problem("computed", type_name, message, name, None, place)], 1)
