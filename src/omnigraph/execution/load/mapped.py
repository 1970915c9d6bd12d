"""Rows of a source by the rules of a mapping: a batch of its columns becomes one batch for each rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.source import suggest
from omnigraph.execution.load.mapping import Column, Constant, MappingFile, Rule, Value
from omnigraph.execution.load.sources import ColumnFiles, TableSource

Numbers = npt.NDArray[np.int64]


class _RuleView(TableSource):
    """The rows that one rule makes of a source; the columns have the names of the properties."""

    def __init__(self, rule: Rule, all_are_texts: bool) -> None:
        super().__init__(rule.type, tuple, {})
        self._rule, self._all_are_texts = rule, all_are_texts

    def is_text(self, name: str) -> bool:
        """Say whether the cells of a column are texts that the type of the property gives a meaning."""
        value = self._rule.values.get(name)
        return isinstance(value, Column) and (value.cast or self._all_are_texts)


class MappedSource(TableSource):
    """Files, tables or frames of any columns, and the rules that make nodes and edges of each row."""

    def __init__(
        self,
        rules: MappingFile,
        batches: Callable[[], Iterable[pa.RecordBatch]],
        files: ColumnFiles | None = None,
        frame: Any = None,
    ) -> None:
        """Take the rules, and what a source of one type takes."""
        super().__init__("", batches, {}, files, frame)
        self.rules = rules
        for path in files.paths if files is not None else ():
            if not any(rule.is_about(path) for rule in rules.rules):
                raise BadInput(f"{rules.name} has no rule for {path}: look at files", path=path)
        if files is None and any(rule.files for rule in rules.rules):
            raise BadInput(f"{rules.name} has rules for some files, and what is loaded are no files")

    def parts(self) -> Iterator[tuple[int, Iterable[pa.RecordBatch]]]:
        """Yield the batches file by file; each file has columns of its own."""
        if self.files is None or len(self.files.paths) == 1:
            yield 0, self.batches()
            return
        for number, path in enumerate(self.files.paths):
            yield number, ColumnFiles((path,), self.files.format, self.files.options).batches()

    def type_names(self) -> Iterator[str]:
        """Yield the types of all rules that are about what is loaded."""
        paths = self.files.paths if self.files is not None else ("",)
        about = (rule for rule in self.rules.rules if any(rule.is_about(path) for path in paths))
        yield from dict.fromkeys(rule.type for rule in about)

    def views(
        self, file: int, batch: pa.RecordBatch
    ) -> Iterator[tuple[TableSource, pa.RecordBatch, Numbers]]:
        """Yield what each rule makes of a batch, with the numbers of the rows that it is made of."""
        path = self.files.paths[file] if self.files is not None else None
        for rule in self.rules.rules:
            if path is None or rule.is_about(path):
                yield (_RuleView(rule, self.has_texts), *_Mapped(rule, batch, path).rows())


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
        hint = suggest(wanted, names)
        here = f"in {self.path}" if self.path else "here"
        raise self._wrong(name, f"there is no column {wanted!r} {here}" + (f": {hint}" if hint else ""))

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
        return BadInput(f"{self.rule.place}, {name}: {what}", place=self.rule.place, column=name)


def as_mapped(plain: TableSource, rules: MappingFile) -> MappedSource:
    """Return a source of columns as one whose rows the rules take apart."""
    return MappedSource(rules, plain.batches, plain.files, plain.frame)
