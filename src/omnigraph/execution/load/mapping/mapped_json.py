"""Lines of JSON by the rules of a mapping: each line makes a record for each rule that applies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.functions.registry import Failed
from omnigraph.compiler.source import suggest
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.execution.load.mapping.compute import CannotCompute, compute_members
from omnigraph.execution.load.mapping.mapping import (
    ColumnValue,
    ComputedValue,
    ConstantValue,
    MappingRule,
    Value,
)
from omnigraph.execution.load.parse.fast_json import BlockRows, NeedsStrictReader
from omnigraph.execution.load.parse.strict_json import BadRecord
from omnigraph.execution.load.parse.text_cells import read_text
from omnigraph.execution.load.sources.json_rows import Made, as_record, parse_row
from omnigraph.execution.load.sources.line_files import WholeLines
from omnigraph.graph.write.integrity.problems import Problem, show_value

_ABSENT = object()


class MappedJson:
    """The rows of a file of JSON, and the rules about it."""

    def __init__(self, rules: Sequence[tuple[MappingRule, TableType]], path: str) -> None:
        """Take the rules, each with the type it makes, and the file."""
        self._rules, self._path = rules, path
        self.tables = tuple(table for _, table in rules)
        self._seen: set[str] = set()
        self._names: dict[str, None] = {}

    def read_block(self, block: WholeLines) -> list[BlockRows]:
        """Raise NeedsStrictReader: what a rule makes of a line depends on its values."""
        raise NeedsStrictReader

    def records(self, line: bytes) -> list[Made]:
        """Return the records that the rules make of a line."""
        row = parse_row(line)
        self._names |= dict.fromkeys(row)
        return [
            (table, as_record(table, self._evaluate_rule(rule, table, row)))
            for rule, table in self._rules
            if self._applies(rule, row)
        ]

    def check(self) -> None:
        """Refuse columns that a rule names and no line has."""
        for rule, _ in self._rules if self._names else ():
            named = [("when", column) for column in _columns_of_when(rule.when)]
            named += [(name, column) for name, value in rule.values.items() for column in _columns(value)]
            for name, column in named:
                if column not in self._seen and column not in self._names:
                    raise missing_column_error(rule, name, column, self._path, self._names)

    def _applies(self, rule: MappingRule, row: Mapping[str, Any]) -> bool:
        if not isinstance(rule.when, ComputedValue):
            return rule.when is None or self._find_value(row, rule.when) not in (None, _ABSENT)
        verdict = self._compute(rule, "when", rule.when, row)
        if verdict is None or isinstance(verdict, bool | Failed):
            return verdict is True
        raise rule_value_error(rule, "when", "the expression is not a condition: compare something")

    def _compute(self, rule: MappingRule, name: str, value: ComputedValue, row: Mapping[str, Any]) -> Any:
        found = {short: self._find_value(row, column) for short, column in value.named.items()}
        members = {short: None if item is _ABSENT else item for short, item in found.items()}
        try:
            return compute_members(value.text, members)
        except CannotCompute as reason:
            raise BadRecord([computed_problem(rule.type, name, str(reason))]) from None

    def _evaluate_rule(self, rule: MappingRule, table: TableType, row: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in rule.values.items():
            made = self._evaluate(rule, table, name, value, row)
            if made is not _ABSENT:
                values[name] = made
        return values

    def _evaluate(
        self, rule: MappingRule, table: TableType, name: str, value: Value, row: Mapping[str, Any]
    ) -> Any:
        if isinstance(value, ConstantValue):
            return value.value
        if isinstance(value, ComputedValue):
            made = self._compute(rule, name, value, row)
            if isinstance(made, Failed):
                raise BadRecord([computed_problem(rule.type, name, made.reason)])
            return made
        if isinstance(value, ColumnValue):
            found = self._find_value(row, value.name)
            if not value.cast or found is None or found is _ABSENT:
                return found
            text, item = _format_value(rule, name, found), table.by_name.get(name)
            return read_text(text, item.type) if item else text
        pieces = [
            self._text_at(rule, name, row, piece) if at % 2 else piece
            for at, piece in enumerate(value.pieces)
        ]
        return None if None in pieces else "".join(str(piece) for piece in pieces)

    def _text_at(self, rule: MappingRule, name: str, row: Mapping[str, Any], column: str) -> str | None:
        found = self._find_value(row, column)
        return None if found is None or found is _ABSENT else _format_value(rule, name, found)

    def _find_value(self, row: Mapping[str, Any], wanted: str) -> Any:
        """Return the value of a column; a dot selects a member of an object."""
        if wanted in row:
            return row[wanted]
        found: Any = row
        for step in wanted.split("."):
            if not isinstance(found, Mapping) or step not in found:
                return _ABSENT
            found = found[step]
        self._seen.add(wanted)
        return found


def missing_column_error(
    rule: MappingRule, name: str, wanted: str, path: str | None, names: Iterable[str]
) -> BadInput:
    """Return the error about a column that a rule names and a source does not have."""
    hint = suggest(wanted, list(names))
    here = f"in {path}" if path else "here"
    return rule_value_error(
        rule, name, f"there is no column {wanted!r} {here}" + (f": {hint}" if hint else "")
    )


def rule_value_error(rule: MappingRule, name: str, what: str) -> BadInput:
    """Return the error about a value of a rule that cannot be computed from the source."""
    return BadInput(f"{rule.place}, {name}: {what}", place=rule.place, column=name)


def _columns(value: Value) -> Sequence[str]:
    if isinstance(value, ColumnValue):
        return (value.name,)
    if isinstance(value, ComputedValue):
        return tuple(value.named.values())
    return () if isinstance(value, ConstantValue) else value.pieces[1::2]


def _columns_of_when(when: str | ComputedValue | None) -> Sequence[str]:
    if isinstance(when, ComputedValue):
        return _columns(when)
    return () if when is None else (when,)


def computed_problem(type_name: str, name: str, reason: str) -> Problem:
    """Return the problem of a row for which an expression has no result."""
    return Problem("computed", type_name, f"{type_name}.{name} cannot be computed: {reason}", name)


def _format_value(rule: MappingRule, name: str, value: Any) -> str:
    """Return a value as the string that a cast of a column gives."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(pa.scalar(value).cast(pa.string()))
    message = f"{rule.place}, {name}: {kind_of(value)} cannot be cast to a string"
    raise BadRecord([Problem("type", rule.type, message, name, show_value(value))])
