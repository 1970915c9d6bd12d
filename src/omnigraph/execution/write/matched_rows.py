"""The rows that the `match` of a mutation has found, and what its statements compute from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.keys import id_of_end
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.functions.registry import Failed
from omnigraph.compiler.ir.queries import Assignment, ReadQuery
from omnigraph.compiler.ir.values import Aggregate, Constant, Value
from omnigraph.compiler.typecheck.types import convert_to_stored
from omnigraph.compiler.types import Scalar
from omnigraph.execution.conditions import evaluate_on
from omnigraph.execution.embed.row_vectors import RowVectors
from omnigraph.execution.expressions import compute_each
from omnigraph.execution.write.assigned_values import convert_given, refuse_computed
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.write.integrity.problems import Problem, as_error

PlainRow = dict[str, Any]


class MatchedRows:
    """The result of a match: what its statements read, as columns of equal length."""

    def __init__(self, query: ReadQuery, columns: Sequence[pa.Array]) -> None:
        self._columns: dict[Value, pa.Array] = {
            item.value: column
            for item, column in zip(query.projections, columns, strict=True)
            if not isinstance(item.value, Aggregate)
        }
        self.num_rows: int = len(columns[0])

    def column(self, value: Value) -> pa.Array | None:
        """Return the column of a value, or None for a constant."""
        return None if isinstance(value, Constant) else self._columns[value]

    def compute(self, value: Value) -> list[Any]:
        """Return a value for each row, or why it could not be computed."""
        return compute_each(value, self, evaluate_on)

    def digests(self) -> pa.Table:
        """Return what stands for the rows when they are compared with those of a newer state."""
        plain = [to_plain(column, value.type) for value, column in self._columns.items()]
        rows = zip(*plain, strict=True)
        return pa.table({"id": [hashlib.sha256(repr(row).encode()).hexdigest() for row in rows]})


@dataclass(frozen=True, slots=True)
class MatchedValues:
    """The rows of a match for one statement: computes what the statement stores for each of them."""

    rows: MatchedRows
    vectors: RowVectors
    place: str

    def ids(self, type_name: str, name: str, value: Value) -> list[str]:
        """Return the id that each row gives for an end or for a row."""
        found = self.rows.compute(value)
        for item in found:
            if item is None or isinstance(item, Failed):
                why = f": {item.reason}" if isinstance(item, Failed) else ""
                message = f"{type_name}.{name} has no value in a row of the match{why}"
                raise as_error([Problem("required", type_name, message, name, None, self.place)], 1)
        if isinstance(value, Constant) and value.type.scalar is not Scalar.STRING:
            return [id_of_end(value.value, value.type)] * len(found)  # the key of a node
        return found

    def assigned_rows(self, table: TableType, items: Sequence[Assignment]) -> list[dict[str, Any]]:
        """Return what each row assigns, with the vectors of texts that have none."""
        columns = {item.property.name: self._column(table, item) for item in items}
        given = {item.property.name: item.value for item in items}
        for vector in table.properties:
            text = given.get(vector.embed.source) if vector.embed is not None else None
            if vector.embed is None or text is None or isinstance(text, Constant):
                continue  # a text that is the same in every row has got its vector before
            value = given.get(vector.name)
            if value is None or (isinstance(value, Constant) and value.value is None):
                columns[vector.name] = self.vectors.of(table, vector, columns[vector.embed.source])
        names = list(columns)
        if not names:
            return [{} for _ in range(self.rows.num_rows)]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def _column(self, table: TableType, item: Assignment) -> list[Any]:
        if isinstance(item.value, Constant):
            return [convert_given(table.name, item, self.place)] * self.rows.num_rows
        found = []
        for value in self.rows.compute(item.value):
            try:
                if isinstance(value, Failed):
                    raise ValueError(value.reason)
                # A NULL is judged later, with the other rules.
                found.append(None if value is None else convert_to_stored(value, item.property.type))
            except ValueError as error:
                place = f"{self.place}, a row of the match"
                raise refuse_computed(f"{table.name}.{item.property.name}", str(error), place) from None
        return found


@dataclass(frozen=True, slots=True)
class ValuesById:
    """What a statement sets in the rows with given ids, each its own."""

    by_id: Mapping[str, Mapping[str, Any]]
    names: Sequence[str]
    reads: Sequence[str] = ()

    def of_rows(self, rows: pa.Table, place: str) -> dict[str, list[Any]]:
        """Return what each row gets, by column."""
        ids = rows["id"].to_pylist()
        return {name: [self.by_id[id_][name] for id_ in ids] for name in self.names}


def unite_rows(table: TableType, rows: Iterable[tuple[str, PlainRow]], place: str) -> dict[str, PlainRow]:
    """Return rows by id; rows of the match that make different ones of an id are refused."""
    found: dict[str, PlainRow] = {}
    for id_, row in rows:
        if found.setdefault(id_, row) != row:
            message = f"rows of the match give different values for {table.name} {id_!r}"
            raise as_error([Problem("match", table.name, message, None, None, place)], 1)
    return found
