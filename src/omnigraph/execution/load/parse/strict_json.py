"""The strict reader of graph records: one JSON object in, one typed row or its problems out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from omnigraph.base.ids import new_ulid
from omnigraph.compiler.catalog.keys import end_types, id_of_end, id_of_key
from omnigraph.compiler.catalog.model import EDGE_ENDS, END_COLUMNS, Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.accept import Fault, Refused
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.graph.write.integrity.convert import convert, describe_expected
from omnigraph.graph.write.integrity.problems import Problem, show_value

MAX_LINE_BYTES = 32 * 2**20
MAX_STRUCTURAL_CHARACTERS = 131_072
PROBLEMS_MEMBER = "_problems"
SOURCE_MEMBER = "_source"
RAW_MEMBER = "_raw"
_STRING_TYPE = PropertyType(Scalar.STRING)
_RESERVED_FIELDS = {
    "_rowid",
    "_rowaddr",
    "_rowoffset",
    "_row_created_at_version",
    "_row_last_updated_at_version",
    "_tombstone",
}


class BadRecord(Exception):
    """A record that cannot be loaded, with its problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Row:
    """One record as a row of its table; `explicit` is whether the record gave the id."""

    table: TableType
    values: Mapping[str, Any]
    explicit: bool


def parse_line(line: bytes) -> Any:
    """Return the JSON value of a line; refuse repeated members, NaN and infinities."""
    if len(line) > MAX_LINE_BYTES:
        _refuse("json", f"the line has more than {MAX_LINE_BYTES} bytes, which is the limit")
    if len(line) > MAX_STRUCTURAL_CHARACTERS and sum(map(line.count, b"{}[],:")) > MAX_STRUCTURAL_CHARACTERS:
        _refuse("json", f"the line has more than {MAX_STRUCTURAL_CHARACTERS} structural characters")
    try:
        # json.loads would also accept bytes in UTF-16 and UTF-32.
        return json.loads(
            line.decode("utf-8-sig"), object_pairs_hook=_collect_members, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError as error:
        _refuse("json", f"the line is not UTF-8: {error}")
    except RecursionError:
        _refuse("json", "the line is nested too deeply")
    except ValueError as error:
        _refuse("json", f"the line is not one JSON value: {error}")


class RecordReader:
    """Turns records into rows of a catalog's tables."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._ends = {table.table_key: end_types(catalog, table) for table in catalog.edges}
        self._defaults = {
            (table.table_key, item.name): convert(item.default.value, item.type)
            for table in catalog.tables
            for item in table.properties
            if item.default is not None
        }

    def defaults_of(self, table: TableType) -> dict[str, Any]:
        """Return the values of a new row that nobody gives."""
        return {name: value for (key, name), value in self._defaults.items() if key == table.table_key}

    def read(self, record: Any, partial: bool = False) -> Row:
        """Return the row of a record, or raise BadRecord; a partial one has only what the record gives."""
        if not isinstance(record, Mapping):
            _refuse("record", f"a record is a JSON object, found {kind_of(record)}")
        if RAW_MEMBER in record:
            _refuse("record", "this line could not be read by an earlier load: replace it with a record")
        table = self._find_table(record)
        data = record.get("data", {})
        if not isinstance(data, Mapping):
            _refuse("record", f"data of {table.name} must be an object, found {kind_of(data)}", table.name)
        problems: list[Problem] = []
        left_out = set(table.by_name) - set(data) if partial else set[str]()
        if data.get("id") is None:
            left_out -= set(table.key or ())
        values = self._read_values(table, data, problems, left_out)
        if table.kind == "edge":
            for member, column in END_COLUMNS.items():
                values[column] = self._read_end(record, member, table, problems)
        explicit = self._identify(table, data, values, problems)
        if problems:
            raise BadRecord(problems)
        return Row(table, values, explicit)

    def _find_table(self, record: Mapping[str, Any]) -> TableType:
        kinds = [kind for kind in ("type", "edge") if kind in record]
        if len(kinds) != 1:
            found = "both" if kinds else "neither"
            _refuse("record", f"a record has either 'type' or 'edge', found {found}")
        kind, name = kinds[0], record[kinds[0]]
        if not isinstance(name, str):
            _refuse("record", f"'{kind}' must be a string, found {kind_of(name)}")
        known = self._catalog.node(name) if kind == "type" else self._catalog.edge(name)
        if known is None:
            names = [item.name for item in (self._catalog.nodes if kind == "type" else self._catalog.edges)]
            hint = suggest(name, names)
            word = "node" if kind == "type" else "edge"
            _refuse("record", f"unknown {word} type '{show_value(name)}'" + (f": {hint}" if hint else ""))
        allowed = {"type", "data"} if kind == "type" else {"edge", "from", "to", "data"}
        for member in record:
            if member not in allowed and member not in (PROBLEMS_MEMBER, SOURCE_MEMBER):
                _refuse(
                    "record", f"unknown member '{show_value(member)}' in a record of {known.name}", known.name
                )
        return known

    def _read_values(
        self, table: TableType, data: Mapping[str, Any], problems: list[Problem], left_out: Collection[str]
    ) -> dict[str, Any]:
        for name in data:
            if name not in table.by_name and name != "id":
                problems.append(unknown_field_problem(table, name))
        values: dict[str, Any] = {}
        for item in table.properties:
            if item.name in left_out:
                continue
            if item.name not in data and item.default is not None:
                values[item.name] = self._defaults[(table.table_key, item.name)]
                continue
            given = data.get(item.name)
            if given is None and item.embed is not None:
                values[item.name] = None  # computed from its text, or reported missing with its batch
                continue
            try:
                values[item.name] = convert(given, item.type)
            except ValueError as error:
                message = f"{table.name}.{item.name} {error}"
                problems.append(Problem("type", table.name, message, item.name, show_value(given)))
        return values

    def _identify(
        self, table: TableType, data: Mapping[str, Any], values: dict[str, Any], problems: list[Problem]
    ) -> bool:
        given = data.get("id")
        if given is not None and not isinstance(given, str):
            message = f"id of {table.name} must be a string, found {kind_of(given)}"
            problems.append(Problem("id", table.name, message, "id", show_value(given)))
            return True
        if given is not None and (problem := _find_unstorable(table, "id", given)):
            problems.append(problem)
        if table.key is None:
            values["id"] = given if given is not None else new_ulid()
            return given is not None
        if problems:
            return False
        if any(name in table.by_name and name not in values for name in table.key):
            values["id"] = given  # of a patch that gives the id instead of the key
            return False
        values["id"] = id_of_key(table, values)
        if given is not None and given != values["id"]:
            message = (
                f"id of {table.name} is '{show_value(given)}', its key says '{show_value(values['id'])}'"
            )
            problems.append(Problem("id", table.name, message, "id", given))
        return False

    def _read_end(
        self, record: Mapping[str, Any], member: str, table: TableType, problems: list[Problem]
    ) -> str:
        given = record.get(member)
        type_ = self._ends[table.table_key][member]
        try:
            return id_of_end(given, type_)
        except Refused as refused:
            unstorable = refused.fault is Fault.SURROGATE and _find_unstorable(table, member, str(given))
            if refused.fault in (Fault.RANGE, Fault.DATE_TEXT, Fault.NAN):
                found = show_value(given)
            else:
                found = "none" if member not in record else kind_of(given)
            message = f"{describe_end(table, member, type_)}: found {found}"
            problems.append(unstorable or Problem("record", table.name, message, member, show_value(given)))
            return ""


def describe_end(table: TableType, member: str, type_: PropertyType) -> str:
    """Return what the end of an edge must be, for people."""
    key = "" if type_.scalar is Scalar.STRING else f", or its key, as {describe_expected(type_)}"
    return f"edge {table.name} needs '{member}', the id of a node, as a string{key}"


def _find_unstorable(table: TableType, member: str, text: str) -> Problem | None:
    """Return the problem of a string that cannot be stored; None if it can be."""
    try:
        convert(text, _STRING_TYPE)
    except ValueError as error:
        return Problem(
            "type", table.name, f"'{member}' of {table.name} {error}", member, repr(show_value(text))
        )
    return None


def unknown_field_problem(table: TableType, name: str) -> Problem:
    """Return the problem of a member that a type has no property for."""
    if name in _RESERVED_FIELDS or (table.kind == "edge" and name in (*END_COLUMNS, *EDGE_ENDS)):
        advice = (
            ": the ends of an edge are beside data, as from and to" if name not in _RESERVED_FIELDS else ""
        )
        message = f"'{name}' is reserved and cannot be a field of {table.name}{advice}"
        return Problem("record", table.name, message, name)
    hint = suggest(str(name), table.by_name)
    message = f"{table.name} has no property '{show_value(name)}'" + (f": {hint}" if hint else "")
    return Problem("record", table.name, message, name)


def _collect_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"member {name[:40]!r} occurs twice")
            seen.add(name)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse(rule: str, message: str, type_name: str = "") -> NoReturn:
    raise BadRecord([Problem(rule, type_name, message)])
