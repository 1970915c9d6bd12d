"""Lines of JSON as rows: one object each, whose values are checked like those of graph records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.execution.load.parse.fast_json import BlockRows, read_rows
from omnigraph.execution.load.parse.strict_json import BadRecord, parse_line
from omnigraph.execution.load.sources.line_files import WholeLines
from omnigraph.graph.write.integrity.problems import Problem

Made = tuple[TableType, Mapping[str, Any]]
"""A record and its type."""


class JsonRows(Protocol):
    """The rows of one JSON file, as graph records."""

    @property
    def tables(self) -> Sequence[TableType]:
        """The types of the records."""

    def read_block(self, block: WholeLines) -> list[BlockRows]:
        """Return the rows of a block, or raise NeedsStrictReader if the strict reader must read them."""

    def records(self, line: bytes) -> list[Made]:
        """Return the records that a line makes, or raise BadRecord."""

    def check(self) -> None:
        """Refuse columns that are named and did not occur in any line."""


class TypedJson:
    """Rows of one type."""

    def __init__(self, table: TableType, mapping: Mapping[str, str], path: str) -> None:
        """Take the type, property names by column name, and the file."""
        self._table, self._mapping, self._path = table, mapping, path
        self.tables = (table,)
        self._absent, self._any = set(mapping), False

    def read_block(self, block: WholeLines) -> list[BlockRows]:
        """Return the rows of a block in which all named columns have values, or raise NeedsStrictReader."""
        found = read_rows(self._table, self._mapping, block.data, block.first)
        if found:
            self._absent.clear()
        return found

    def records(self, line: bytes) -> list[Made]:
        """Return the record that a line makes."""
        row = parse_row(line)
        self._any = True
        self._absent -= set(row)
        named: dict[str, Any] = {}
        for column, value in row.items():
            name = self._mapping.get(column, column)
            if name in named:
                message = f"two columns are given for {self._table.name}.{name}: leave one out"
                raise BadRecord([Problem("record", self._table.name, message, name)])
            named[name] = value
        return [(self._table, as_record(self._table, named))]

    def check(self) -> None:
        """Refuse columns that the mapping names and no line has."""
        if self._any and self._absent:
            raise absent_column_error(min(self._absent), self._path)


def parse_row(line: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a line; refuse other values."""
    row = parse_line(line)
    if not isinstance(row, Mapping):
        raise BadRecord([Problem("record", "", f"a row is a JSON object, found {kind_of(row)}")])
    return row


def as_record(table: TableType, named: dict[str, Any]) -> Mapping[str, Any]:
    """Return values by property as a graph record; the ends of an edge may be among them."""
    if table.kind == "node":
        return {"type": table.name, "data": named}
    ends: dict[str, Any] = {end: named.pop(end) for end in ("from", "to") if end in named}
    return {"edge": table.name, **ends, "data": named}


def absent_column_error(column: str, path: str | None, hint: str = "") -> BadInput:
    """Return the error about a column that a mapping names and a source does not have."""
    where = path or "the table"
    message = f"the mapping names the column {column!r}, which {where} does not have"
    return BadInput(message + (f": {hint}" if hint else ""), column=column, path=path)


def property_names(names: Iterable[str], mapping: Mapping[str, str]) -> list[str]:
    """Return the property name of each column."""
    return [mapping.get(name, name) for name in names]
