"""Constraints as values of one kind, so that two schemas' constraints can be compared as sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.model import Cardinality, Check, Range
from omnigraph.compiler.schema.ast import Literal
from omnigraph.compiler.schema.printer import print_argument


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """A tuple of properties that is unique."""

    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyRule:
    """What the id of an edge is made of; it can be added, and gives stored edges their ids."""

    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexRule:
    """A tuple of properties with an index."""

    properties: tuple[str, ...]


Rule: TypeAlias = UniqueRule | KeyRule | IndexRule | Range | Check | Cardinality


def rule_text(rule: Rule) -> str:
    """Return the rule as it is written in a schema."""
    if isinstance(rule, UniqueRule | KeyRule | IndexRule):
        return f"@{_WORDS[type(rule)]}({', '.join(rule.properties)})"
    if isinstance(rule, Range):
        return f"@range({rule.property}, {_print_bound(rule.low)}..{_print_bound(rule.high)})"
    if isinstance(rule, Check):
        return f"@check({rule.property}, {print_argument(Literal(rule.pattern))})"
    return f"@card({rule.low}..{'' if rule.high is None else rule.high})"


def rule_code(rule: Rule) -> MigrationCode | None:
    """Return the code under which stored data that breaks the rule is reported; an index needs none."""
    return _CODES.get(type(rule))


_WORDS: dict[type, str] = {UniqueRule: "unique", KeyRule: "key", IndexRule: "index"}
_CODES: dict[type, MigrationCode] = {
    UniqueRule: MigrationCode.ADD_UNIQUE,
    KeyRule: MigrationCode.ADD_KEY,
    Range: MigrationCode.ADD_RANGE,
    Check: MigrationCode.ADD_CHECK,
    Cardinality: MigrationCode.ADD_CARDINALITY,
}


def _print_bound(value: int | float | None) -> str:
    return "" if value is None else print_argument(Literal(value))
