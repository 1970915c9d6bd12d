"""Rows of a source by the rules of a mapping: each rule makes one batch from a batch of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.mapping.compute import CannotCompute, ComputedColumn, compute_columns
from omnigraph.execution.load.mapping.mapped_json import (
    MappedJson,
    computed_problem,
    missing_column_error,
    rule_value_error,
)
from omnigraph.execution.load.mapping.mapping import (
    ColumnValue,
    ComputedValue,
    ConstantValue,
    MappingFile,
    MappingRule,
    Value,
)
from omnigraph.execution.load.sources.json_rows import JsonRows
from omnigraph.execution.load.sources.row_view import RowView
from omnigraph.execution.load.sources.table_source import Numbers, RowPart, TableSource, View
from omnigraph.graph.write.integrity.problems import Problem


@dataclass(frozen=True, slots=True)
class MappedRows:
    """`RowShape`: rows with any columns, and the rules that make nodes and edges from them."""

    rules: MappingFile

    def type_names(self, parts: Sequence[RowPart]) -> Sequence[str]:
        return list(dict.fromkeys(rule.type for part in parts for rule in self._rules_for(part.path)))

    def is_distinct(self, type_name: str) -> bool:
        return any(rule.distinct for rule in self.rules.rules if rule.type == type_name)

    def views(self, part: RowPart, batch: pa.RecordBatch) -> Iterator[View]:
        """Yield what each rule makes from a batch, with the numbers of the rows it was made from."""
        is_csv = part.format == "csv"
        for rule in self._rules_for(part.path):
            texts = [name for name, value in rule.values.items()
                     if isinstance(value, ColumnValue)
                     and (value.cast or is_csv or value.name in part.text_columns)]  # fmt: skip
            made, numbers, failed = _apply_rule(rule, batch, part.path)
            yield RowView(rule.type, {}, texts, failed), made, numbers

    def json_rows(self, path: str, tables: Mapping[str, TableType]) -> JsonRows:
        return MappedJson([(rule, tables[rule.type]) for rule in self._rules_for(path)], path)

    def _rules_for(self, path: str | None) -> list[MappingRule]:
        return [rule for rule in self.rules.rules if path is None or rule.is_about(path)]


Failures = dict[int, list[Problem]]


def _apply_rule(
    rule: MappingRule, batch: pa.RecordBatch, path: str | None
) -> tuple[pa.RecordBatch, Numbers, Failures]:
    """Return what a rule makes from a batch, the numbers of the rows, and what cannot be computed of them."""
    numbers = np.arange(batch.num_rows, dtype=np.int64)
    if rule.when is not None:
        kept = _RuleOnBatch(rule, batch, path).select(rule.when)
        batch = batch.filter(kept)
        numbers = numbers[np.asarray(kept.to_numpy(zero_copy_only=False), dtype=bool)]
    failed: Failures = {}
    on_batch = _RuleOnBatch(rule, batch, path)
    columns = [on_batch.evaluate(name, value, failed) for name, value in rule.values.items()]
    return pa.record_batch(columns, names=list(rule.values)), numbers, failed


@dataclass(frozen=True, slots=True)
class _RuleOnBatch:
    rule: MappingRule
    batch: pa.RecordBatch
    path: str | None

    def select(self, when: str | ComputedValue) -> pa.BooleanArray:
        """Return which rows the rule makes a record of."""
        if isinstance(when, str):
            return self._find_column("when", when).is_valid()
        verdicts = self._compute("when", when).values
        if not pa.types.is_boolean(verdicts.type):
            raise self._error("when", "the expression is not a condition: compare something")
        return pc.fill_null(verdicts, False)

    def evaluate(self, name: str, value: Value, failed: Failures) -> pa.Array:
        """Return the column of a property, and add the rows of which it cannot be computed."""
        if isinstance(value, ComputedValue):
            found = self._compute(name, value)
            for row, reason in found.failed.items():
                failed.setdefault(row, []).append(computed_problem(self.rule.type, name, reason))
            return found.values
        if isinstance(value, ConstantValue):
            return self._repeat(name, value.value)
        if isinstance(value, ColumnValue):
            found = self._find_column(name, value.name)
            return self._cast_to_string(name, found) if value.cast else found
        pieces: list[Any] = [
            self._cast_to_string(name, self._find_column(name, piece)) if at % 2 else piece
            for at, piece in enumerate(value.pieces)
        ]
        if len(pieces) == 1:
            return self._repeat(name, pieces[0])
        return pc.binary_join_element_wise(*pieces, "", null_handling="emit_null")

    def _compute(self, name: str, value: ComputedValue) -> ComputedColumn:
        columns = {short: self._find_column(name, column) for short, column in value.named.items()}
        try:
            return compute_columns(value.text, columns, self.batch.num_rows)
        except CannotCompute as reason:
            raise self._error(name, str(reason)) from None

    def _find_column(self, name: str, wanted: str) -> pa.Array:
        """Return a column by its name; a dot selects a field of a struct column."""
        names = self.batch.schema.names
        if wanted in names:
            return self.batch.column(names.index(wanted))
        first, *inner = wanted.split(".")
        if inner and first in names:
            found = self.batch.column(names.index(first))
            for step in inner:
                if not pa.types.is_struct(found.type) or found.type.get_field_index(step) < 0:
                    break
                found = pc.struct_field(found, step)
            else:
                return found
        raise missing_column_error(self.rule, name, wanted, self.path, names)

    def _cast_to_string(self, name: str, column: pa.Array) -> pa.Array:
        try:
            return column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            what = f"a column of {column.type} cannot be cast to strings: leave out the cast"
            raise self._error(name, what) from error

    def _repeat(self, name: str, value: Any) -> pa.Array:
        try:
            return pa.repeat(pa.scalar(value), self.batch.num_rows)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise self._error(name, f"no property can hold the value {value!r}") from error

    def _error(self, name: str, what: str) -> BadInput:
        return rule_value_error(self.rule, name, what)


def apply_mapping(plain: TableSource, rules: MappingFile) -> TableSource:
    """Return a source of columns whose rows become records by the rules."""
    paths = plain.paths()
    for path in paths:
        if not any(rule.is_about(path) for rule in rules.rules):
            raise BadInput(f"no rule of {rules.name} matches {path}: check its files = patterns", path=path)
    if not paths and any(rule.files for rule in rules.rules):
        raise BadInput(f"{rules.name} has files = patterns, but the source is not files: remove them")
    return TableSource(MappedRows(rules), plain.parts, plain.frame.rows if plain.frame else None)
