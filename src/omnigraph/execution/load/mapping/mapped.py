"""Rows of a source by the rules of a mapping: a batch of its columns becomes one batch for each rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.mapping.mapped_json import MappedJson, no_column, wrong_value
from omnigraph.execution.load.mapping.mapping import Column, Constant, MappingFile, Rule, Value
from omnigraph.execution.load.sources.column_files import ColumnFile, Piece
from omnigraph.execution.load.sources.json_rows import JsonRows
from omnigraph.execution.load.sources.table_source import Numbers, RowView, TableSource


class MappedSource(TableSource):
    """Files, tables or frames of any columns, and the rules that make nodes and edges of each row."""

    def __init__(
        self,
        rules: MappingFile,
        batches: Callable[[], Iterable[Piece]],
        files: Sequence[ColumnFile] = (),
        frame: Any = None,
    ) -> None:
        """Take the rules, and what a source of one type takes."""
        super().__init__("", batches, {}, files, frame)
        self.rules = rules
        for file in files:
            if not any(rule.is_about(file.path) for rule in rules.rules):
                raise BadInput(f"{rules.name} has no rule for {file.path}: look at files", path=file.path)
        if not files and any(rule.files for rule in rules.rules):
            raise BadInput(f"{rules.name} has rules for some files, and what is loaded are no files")

    @property
    def distinct(self) -> Collection[str]:
        """The types whose rules say that a node may be given more than once."""
        return {rule.type for rule in self.rules.rules if rule.distinct}

    def type_names(self) -> Iterator[str]:
        """Yield the types of all rules that are about what is loaded."""
        about = chain.from_iterable(self._rules_for(file) for file in range(len(self.files) or 1))
        yield from dict.fromkeys(rule.type for rule in about)

    def views(self, file: int, batch: pa.RecordBatch) -> Iterator[tuple[RowView, pa.RecordBatch, Numbers]]:
        """Yield what each rule makes of a batch, with the numbers of the rows that it is made of."""
        is_csv = self.format(file) == "csv"
        for rule in self._rules_for(file):
            texts = [name for name, value in rule.values.items()
                     if isinstance(value, Column) and (value.cast or is_csv)]  # fmt: skip
            yield (RowView(rule.type, {}, texts), *_Mapped(rule, batch, self.path(file)).rows())

    def json_rows(self, file: int, tables: Mapping[str, TableType]) -> JsonRows:
        """Return what reads a file of JSON."""
        rules = [(rule, tables[rule.type]) for rule in self._rules_for(file)]
        return MappedJson(rules, self.files[file].path)

    def _rules_for(self, file: int) -> list[Rule]:
        path = self.path(file)
        return [rule for rule in self.rules.rules if path is None or rule.is_about(path)]


@dataclass(frozen=True, slots=True)
class _Mapped:
    rule: Rule
    batch: pa.RecordBatch
    path: str | None

    def rows(self) -> tuple[pa.RecordBatch, Numbers]:
        columns = [self._values(name, value) for name, value in self.rule.values.items()]
        made = pa.record_batch(columns, names=list(self.rule.values))
        numbers = np.arange(self.batch.num_rows, dtype=np.int64)
        if self.rule.when is None:
            return made, numbers
        present = self._column("when", self.rule.when).is_valid()
        return made.filter(present), numbers[np.asarray(present.to_numpy(zero_copy_only=False), dtype=bool)]

    def _values(self, name: str, value: Value) -> pa.Array:
        if isinstance(value, Constant):
            return self._repeated(name, value.value)
        if isinstance(value, Column):
            found = self._column(name, value.name)
            return self._text(name, found) if value.cast else found
        pieces: list[Any] = [
            self._text(name, self._column(name, piece)) if at % 2 else piece
            for at, piece in enumerate(value.pieces)
        ]
        if len(pieces) == 1:
            return self._repeated(name, pieces[0])
        return pc.binary_join_element_wise(*pieces, "", null_handling="emit_null")

    def _column(self, name: str, wanted: str) -> pa.Array:
        """Return a column by its name; a dot goes into a column of records."""
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
        raise no_column(self.rule, name, wanted, self.path, names)

    def _text(self, name: str, column: pa.Array) -> pa.Array:
        try:
            return column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._wrong(name, f"a column of {column.type} has no text: leave out the cast") from error

    def _repeated(self, name: str, value: Any) -> pa.Array:
        try:
            return pa.repeat(pa.scalar(value), self.batch.num_rows)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise self._wrong(name, f"the value {value!r} fits no property") from error

    def _wrong(self, name: str, what: str) -> BadInput:
        return wrong_value(self.rule, name, what)


def as_mapped(plain: TableSource, rules: MappingFile) -> MappedSource:
    """Return a source of columns as one whose rows the rules take apart."""
    return MappedSource(rules, plain.batches, plain.files, plain.frame)
