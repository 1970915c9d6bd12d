"""Columns of the program or of files as a source of rows of one type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.load.parse.text_cells import python_values, read_texts
from omnigraph.execution.load.sources.column_files import ColumnFile, Piece
from omnigraph.execution.load.sources.json_rows import (
    JsonRows,
    TypedJson,
    absent_column,
    as_record,
    named_columns,
)

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowView:
    """What the rows of a batch are: their type, property names by column name, and which cells are texts."""

    table: str
    mapping: Mapping[str, str]
    texts: Collection[str]
    """Properties whose cells only their types give a meaning."""

    def records(self, table: TableType, batch: pa.RecordBatch) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a batch as graph records."""
        names = named_columns(batch.schema.names, self.mapping)
        types = [item.type if (item := table.by_name.get(name)) else None for name in names]
        columns = [
            (read_texts if name in self.texts else python_values)(column, type_)
            for name, column, type_ in zip(names, batch.columns, types, strict=True)
        ]
        for number in range(batch.num_rows):
            yield as_record(
                table, {name: values[number] for name, values in zip(names, columns, strict=True)}
            )


class TableSource:
    """Rows of one type: Arrow tables, data frames, files. Each row is a record."""

    def __init__(
        self,
        table: str,
        batches: Callable[[], Iterable[Piece]],
        mapping: Mapping[str, str],
        files: Sequence[ColumnFile] = (),
        frame: Any = None,
    ) -> None:
        """Take the type's name, how to get the batches, and property names by column name.

        `files` or `frame` (of Spark) says where the batches come from, for who would read them elsewhere.
        """
        self.table = table
        self.batches = batches
        self.mapping = mapping
        self.files, self.frame = tuple(files), frame

    @property
    def distinct(self) -> Collection[str]:
        """The types whose records may be given more than once, and are then one."""
        return ()

    def type_names(self) -> Iterator[str]:
        """Yield the types that the rows are of."""
        yield self.table

    def parts(self) -> Iterator[tuple[int, Iterable[Piece]]]:
        """Yield the rows file by file, each with the file's number; rows are counted anew in each."""
        if len(self.files) <= 1:
            yield 0, self.batches()
            return
        for number, file in enumerate(self.files):
            yield number, file.pieces()

    def views(self, file: int, batch: pa.RecordBatch) -> Iterator[tuple[RowView, pa.RecordBatch, Numbers]]:
        """Yield a batch for each kind of record that its rows make, and the numbers of the rows."""
        names = batch.schema.names
        for column in self.mapping:
            if column not in names:
                raise absent_column(column, self.path(file), suggest(column, names) or "")
        texts = named_columns(names, self.mapping) if self.format(file) == "csv" else ()
        view = RowView(self.table, self.mapping, texts)
        yield view, batch, np.arange(batch.num_rows, dtype=np.int64)

    def json_rows(self, file: int, tables: Mapping[str, TableType]) -> JsonRows:
        """Return what reads a file of JSON; the types of the source are given by name."""
        return TypedJson(tables[self.table], self.mapping, self.files[file].path)

    def path(self, file: int) -> str | None:
        """Return the path of a file; None for what is no file."""
        return self.files[file].path if self.files else None

    def format(self, file: int) -> str | None:
        """Return the format of a file; None for what is no file."""
        return self.files[file].format if self.files else None
