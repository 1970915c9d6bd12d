"""Mapping files: which columns make which nodes and edges. They are parsed here; data is not."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput, ParseError, TypeCheckError
from omnigraph.base.plain import read_json
from omnigraph.compiler.typecheck.columns import parse_column_expression

_RULE_KINDS = ("node", "edge")
_COMMON_MEMBERS = ("type", "files", "when", "id", "properties")
_RULE_MEMBERS = {"node": (*_COMMON_MEMBERS, "distinct"), "edge": (*_COMMON_MEMBERS, "from", "to")}
_VALUE_FORMS = ("column", "value", "text", "expression")
_EXTRAS = {"column": {"cast"}, "expression": {"columns"}}
"""What may stand beside a form."""
_MOST_DOTS = 200
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a column; with `cast` it is parsed like a CSV cell, by the property's type."""

    name: str
    cast: bool = False


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """The same value in every row."""

    value: Any


@dataclass(frozen=True, slots=True)
class TemplateValue:
    """A string with the values of columns in it; NULL where one of them is missing."""

    pieces: tuple[str, ...]
    """Literals and column names, alternating; a literal comes first and last."""


@dataclass(frozen=True, slots=True)
class ComputedValue:
    """What an expression of the query language computes from columns."""

    text: str
    columns: tuple[tuple[str, str], ...] = ()
    """Columns by the names that they have in the expression, where those differ."""

    @property
    def named(self) -> Mapping[str, str]:
        """The columns that the expression reads, by their names in it."""
        other = dict(self.columns)
        return {name: other.get(name, name) for name in parse_column_expression(self.text).columns}


Value = ColumnValue | ConstantValue | TemplateValue | ComputedValue


@dataclass(frozen=True, slots=True)
class MappingRule:
    """How a row makes one node or one edge."""

    place: str
    """Where the rule is: file, line and name, for errors."""
    type: str
    values: Mapping[str, Value]
    """By property; `id`, and `from` and `to` of an edge, are among them."""
    when: str | ComputedValue | None = None
    """A row in which this column is NULL, or this condition is not true, makes no record."""
    files: str | None = None
    """A glob: the files that the rule applies to; None for all."""
    distinct: bool = False
    """Whether rows that make the same node make it once."""

    def is_about(self, path: str) -> bool:
        """Return whether the rule applies to a file."""
        names = (path, path.rpartition("/")[2])
        return self.files is None or any(fnmatchcase(name, self.files) for name in names)


@dataclass(frozen=True, slots=True)
class MappingFile:
    """All rules of a file, in its order."""

    name: str
    rules: tuple[MappingRule, ...]


def read_mapping(path: Path) -> MappingFile:
    """Read a mapping file: TOML, or JSON of the same shape if its name ends in `.json`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the mapping {path} cannot be read: {error}", path=str(path)) from error
    return parse_mapping(text, str(path))


def _read_toml(text: str) -> dict[str, Any]:
    # For `a.a.a…` the reader keeps every beginning of the key: some kilobytes of text would fill the memory.
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"a line has more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_mapping(text: str, name: str) -> MappingFile:
    """Parse the text of a mapping file; errors name the line and the key."""
    is_json = name.endswith(".json")
    try:
        parsed = read_json(text) if is_json else _read_toml(text)
    except ValueError as error:
        raise BadInput(f"{name} is not {'JSON' if is_json else 'TOML'}: {error}", path=name) from error
    if not isinstance(parsed, dict):
        raise BadInput(f"{name} has no rules: write [[node]] and [[edge]]", path=name)
    place = _RuleLocator(name, text, is_json)
    for key in parsed:
        if key not in _RULE_KINDS:
            raise _mapping_error(
                place(key, 0, key), f"there is no {key!r} in a mapping: write [[node]] and [[edge]]"
            )
    rules = tuple(_parse_rules(parsed, place))
    if not rules:
        raise BadInput(f"{name} has no rules: write [[node]] and [[edge]]", path=name)
    once = {rule.type for rule in rules if rule.distinct}
    for rule in rules:
        if rule.type in once and not rule.distinct:
            raise _mapping_error(
                rule.place, f"another rule for {rule.type} has distinct = true: set it here as well"
            )
    return MappingFile(name, rules)


class _RuleLocator:
    """Finds where in the file a rule, or a key of it, is."""

    def __init__(self, name: str, text: str, is_json: bool) -> None:
        self._name, self._lines, self._is_json = name, text.splitlines(), is_json

    def __call__(self, kind: str, number: int, key: str | None = None) -> str:
        line = None if self._is_json else self._line(kind, number, key)
        rule = f"{kind} {number + 1}" if kind in _RULE_KINDS else ""
        at = self._name if line is None else f"{self._name}, line {line}"
        return ", ".join(item for item in (at, rule, key) if item)

    def _line(self, kind: str, number: int, key: str | None) -> int | None:
        heads = [at for at, line in enumerate(self._lines) if re.match(rf"\s*\[\[\s*{kind}\s*\]\]", line)]
        begin = heads[number] if number < len(heads) else 0
        if key is None:
            return begin + 1 if heads else None
        last = re.escape(key.rpartition(".")[2])
        for at, line in enumerate(self._lines[begin:], begin):
            if re.search(rf"(^|[\s{{,.\[\"']){last}[\"']?\s*[\]=]", line):
                return at + 1
        return begin + 1 if heads else None


_At = Callable[[str | None], str]


def _parse_rules(parsed: Mapping[str, Any], place: _RuleLocator) -> Iterator[MappingRule]:
    for kind in _RULE_KINDS:
        given = parsed.get(kind, [])
        if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
            raise _mapping_error(place(kind, 0), f"write [[{kind}]], with two brackets, once for each rule")
        for number, item in enumerate(given):
            yield _parse_rule(kind, item, lambda key, n=number, k=kind: place(k, n, key))  # type: ignore[misc]


def _parse_rule(kind: str, given: Mapping[str, Any], at: _At) -> MappingRule:
    for key in given:
        if key not in _RULE_MEMBERS[kind]:
            subject = "a node" if kind == "node" else "an edge"
            known = ", ".join(_RULE_MEMBERS[kind])
            raise _mapping_error(at(key), f"a rule for {subject} has no {key!r}: it has {known}")
    for key in ("type", "files"):
        if key in given and not (isinstance(given[key], str) and given[key]):
            raise _mapping_error(at(key), "it must be a string")
    if not isinstance(given.get("distinct", False), bool):
        raise _mapping_error(at("distinct"), "it must be true or false")
    if "type" not in given:
        raise _mapping_error(at(None), "this rule names no type: add type")
    ends = ("from", "to") if kind == "edge" else ()
    for end in ends:
        if end not in given:
            raise _mapping_error(at(None), f"an edge needs both ends: add {end}")
    properties = given.get("properties", {})
    if not isinstance(properties, dict):
        raise _mapping_error(at("properties"), "it must be a table of columns by property")
    named = {name: given[name] for name in ("id", *ends) if name in given}
    values = {name: _parse_value(value, at, name) for name, value in named.items()}
    for name, value in properties.items():
        if name in values or (name in ("from", "to") and kind == "edge"):
            raise _mapping_error(
                at(f"properties.{name}"), f"{name!r} is given beside the properties, not among them"
            )
        values[name] = _parse_value(value, at, f"properties.{name}")
    if not values:
        raise _mapping_error(at(None), "this rule uses no column: add properties")
    once = given.get("distinct", False)
    return MappingRule(at(None), given["type"], values, _parse_when(given, at), given.get("files"), once)


def _parse_when(given: Mapping[str, Any], at: _At) -> str | ComputedValue | None:
    when = given.get("when")
    if when is None or (isinstance(when, str) and when):
        return when
    if isinstance(when, dict) and isinstance(found := _parse_value(when, at, "when"), ComputedValue):
        return found
    raise _mapping_error(at("when"), "it must be a string, the name of a column, or { expression = … }")


def _parse_value(given: Any, at: _At, key: str) -> Value:
    if isinstance(given, str):
        return ColumnValue(given)
    if not isinstance(given, dict):
        raise _mapping_error(
            at(key), "name a column, or write { value = ... } for the same value in every row"
        )
    forms = [form for form in _VALUE_FORMS if form in given]
    if len(forms) != 1 or set(given) - {forms[0], *_EXTRAS.get(forms[0], ())}:
        raise _mapping_error(
            at(key),
            "write { column = … } (perhaps with cast = true), { value = … }, { text = … } "
            "or { expression = … } (perhaps with columns = { … })",
        )
    if forms == ["value"]:
        return ConstantValue(given["value"])
    if not isinstance(given[forms[0]], str):
        raise _mapping_error(at(key), f"{forms[0]} must be a string")
    if forms == ["text"]:
        return TemplateValue(tuple(_PLACEHOLDER.split(given["text"])))
    if forms == ["expression"]:
        return _parse_computed(given, at, key)
    if not isinstance(given.get("cast", False), bool):
        raise _mapping_error(at(key), "cast is true or false: the schema says to which type")
    return ColumnValue(given["column"], given.get("cast", False))


def _parse_computed(given: Mapping[str, Any], at: _At, key: str) -> ComputedValue:
    columns = given.get("columns", {})
    if not isinstance(columns, dict) or not all(isinstance(item, str) and item for item in columns.values()):
        raise _mapping_error(at(key), "columns must be a table of columns by their names in the expression")
    try:
        named = parse_column_expression(given["expression"]).columns
    except (ParseError, TypeCheckError) as error:
        raise _mapping_error(at(key), f"the expression is wrong: {error}") from error
    if unknown := sorted(set(columns) - set(named)):
        raise _mapping_error(at(key), f"the expression does not name {unknown[0]!r}, which columns has")
    return ComputedValue(given["expression"], tuple(sorted(columns.items())))


def _mapping_error(place: str, what: str) -> BadInput:
    return BadInput(f"{place}: {what}", place=place)
