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
from omnigraph.execution.load.mapping.mapped_json import MappedJson, missing_column_error, rule_value_error
from omnigraph.execution.load.mapping.mapping import (
    ColumnValue,
    ConstantValue,
    MappingFile,
    MappingRule,
    Value,
)
from omnigraph.execution.load.sources.json_rows import JsonRows
from omnigraph.execution.load.sources.row_view import RowView
from omnigraph.execution.load.sources.table_source import Numbers, RowPart, TableSource, View


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
            yield (RowView(rule.type, {}, texts), *_RuleOnBatch(rule, batch, part.path).rows())

    def json_rows(self, path: str, tables: Mapping[str, TableType]) -> JsonRows:
        return MappedJson([(rule, tables[rule.type]) for rule in self._rules_for(path)], path)

    def _rules_for(self, path: str | None) -> list[MappingRule]:
        return [rule for rule in self.rules.rules if path is None or rule.is_about(path)]


@dataclass(frozen=True, slots=True)
class _RuleOnBatch:
    rule: MappingRule
    batch: pa.RecordBatch
    path: str | None

    def rows(self) -> tuple[pa.RecordBatch, Numbers]:
        columns = [self._evaluate(name, value) for name, value in self.rule.values.items()]
        made = pa.record_batch(columns, names=list(self.rule.values))
        numbers = np.arange(self.batch.num_rows, dtype=np.int64)
        if self.rule.when is None:
            return made, numbers
        present = self._find_column("when", self.rule.when).is_valid()
        return made.filter(present), numbers[np.asarray(present.to_numpy(zero_copy_only=False), dtype=bool)]

    def _evaluate(self, name: str, value: Value) -> pa.Array:
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
