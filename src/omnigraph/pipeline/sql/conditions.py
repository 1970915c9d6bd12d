"""Conditions that Spark leaves to storage: lists of words and values, translated into filters of storage.

Spark's answer is the measure: NULL as in SQL, both zeros equal, NaN above all numbers, and a value that the
column cannot hold compared by its size. Storage holds finite numbers only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_arrow
from omnigraph.storage.filters import (
    AllOf,
    AnyOf,
    ComparedColumn,
    Filter,
    Negated,
    NullColumn,
    OneOf,
    Operator,
)

_OPERATORS: Mapping[str, Operator] = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FIXED = {"id": "id", **END_COLUMNS}
_TEXT = PropertyType(Scalar.STRING)
_MICROS_PER_MILLI = 1000
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def read_conditions(table: TableType, text: str) -> tuple[Filter, ...]:
    """Return the filters of a JSON string; all of them must hold."""
    return tuple(_filter(table, item) for item in json.loads(text))


def is_comparable(type_: PropertyType) -> bool:
    """Return whether storage compares a property's values as Spark does."""
    return type_.is_plain and type_.scalar is not Scalar.BLOB


def _filter(table: TableType, said: list[Any]) -> Filter:
    word, *rest = said
    match word:
        case "AND" | "OR":
            parts = tuple(_filter(table, part) for part in rest)
            return AllOf(parts) if word == "AND" else AnyOf(parts)
        case "NOT":
            return Negated(_filter(table, rest[0]))
        case "ALWAYS_TRUE":
            return AllOf(())
        case "ALWAYS_FALSE":
            return AnyOf(())
    column, type_ = _column(table, rest[0])
    match word:
        case "IS_NULL":
            return NullColumn(column)
        case "IS_NOT_NULL":
            return Negated(NullColumn(column))
        case "IN":
            return _Column(column, type_).is_one_of(rest[1])
        case "STARTS_WITH":
            return _starts_with(column, rest[1])
    return _Column(column, type_).compare(_OPERATORS[word], rest[1])


def _column(table: TableType, name: str) -> tuple[str, PropertyType]:
    declared = table.by_name.get(name)
    if declared is not None:
        return declared.name, PropertyType(declared.type.scalar)
    if name not in _FIXED:
        raise BadInput(f"{table.name} has no column {name!r}", column=name)
    return _FIXED[name], _TEXT


class _Column:
    """A column of one type, compared with values as Spark has them."""

    def __init__(self, name: str, type_: PropertyType) -> None:
        self.name, self.type = name, type_

    def compare(self, operator: Operator, value: Any) -> Filter:
        """Return what is true of the rows of which Spark's comparison is."""
        scalar = self.type.scalar
        if scalar is Scalar.U64:
            value = int(value)
        if scalar in STORED_RANGES:
            low, high = STORED_RANGES[scalar]
            if not low <= value <= high:
                return self._constant(operator == "!=" or operator[0] == (">" if value < low else "<"))
        elif scalar is Scalar.DATETIME:
            return self._compare_moment(operator, value)
        elif scalar.is_float:
            return self._compare_float(operator, float(value))
        return self._compare(operator, value)

    def is_one_of(self, values: list[Any]) -> Filter:
        """Return what is true of the rows whose value is one of some."""
        if self.type.scalar is Scalar.STRING:
            return OneOf(self.name, to_arrow(values, self.type))
        return AnyOf(tuple(self.compare("=", value) for value in values))

    def _compare_moment(self, operator: Operator, micros: int) -> Filter:
        """Compare milliseconds with microseconds."""
        millis, rest = divmod(micros, _MICROS_PER_MILLI)
        if rest and operator in ("=", "!="):
            return self._constant(operator == "!=")
        if rest and operator in ("<", ">="):  # below the next millisecond, or from it on
            millis += 1
        return self._compare(operator, millis)

    def _compare_float(self, operator: Operator, value: float) -> Filter:
        if math.isnan(value):  # above everything that is stored
            return self._constant(operator in ("!=", "<", "<="))
        if value == 0:
            if operator in ("=", "!="):
                zero = AllOf((self._compare(">=", -0.0), self._compare("<=", 0.0)))
                return zero if operator == "=" else Negated(zero)
            value = 0.0 if operator in (">", "<=") else -0.0
        return self._compare(operator, value)

    def _compare(self, operator: Operator, value: Any) -> Filter:
        return ComparedColumn(self.name, operator, to_arrow([value], self.type)[0])

    def _constant(self, truth: bool) -> Filter:
        """Return what is true, or false, of every value; of NULL it is neither."""
        never = AllOf((self._compare("=", 0), self._compare("=", 1)))
        return Negated(never) if truth else never


def _starts_with(column: str, prefix: str) -> Filter:
    """Return the texts between a prefix and the first text behind all that begin so."""
    words = _Column(column, _TEXT)
    from_there = words.compare(">=", prefix)
    end = _text_behind(prefix)
    return from_there if end is None else AllOf((from_there, words.compare("<", end)))


def _text_behind(prefix: str) -> str | None:
    letters = [ord(letter) for letter in prefix]
    while letters and letters[-1] == _LAST_CODE_POINT:
        letters.pop()
    if not letters:
        return None
    letters[-1] += 1
    if letters[-1] in _SURROGATES:
        letters[-1] = _SURROGATES.stop
    return "".join(map(chr, letters))
