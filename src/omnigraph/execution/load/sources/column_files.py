"""Files of rows: Parquet, ORC, CSV, Arrow and JSON. Each is read by its own format and its own columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.dataset

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.sources.csv_file import CsvFile
from omnigraph.execution.load.sources.line_files import Lines, blocks_of
from omnigraph.storage.files.inputs import on_disk

BATCH_ROWS = 65_536
ONLY_COLUMNS = ("parquet", "csv", "orc", "arrow")
"""Formats that no graph records come in."""
_FORMATS = ("parquet", "csv", "json", "orc", "arrow")
_PACKED = (".gz", ".zst")
_ENDINGS = {"jsonl": "json", "ndjson": "json", "feather": "arrow", "ipc": "arrow"}

Piece: TypeAlias = "pa.RecordBatch | Lines"
"""Some rows of a file: columns, or lines of JSON, whose values only the types of the properties tell."""


@dataclass(frozen=True, slots=True)
class ColumnFile:
    """One file of rows, and how the storage behind its address is reached."""

    path: str
    format: str
    options: Mapping[str, str] = field(repr=False)

    def pieces(self, groups: Iterable[int] | None = None) -> Iterator[Piece]:
        """Yield the rows, of Parquet only some row groups if so told; one without rows says the columns."""
        if self.format == "json":
            yield from blocks_of(self.path, self.options)
            return
        with on_disk([self.path], self.options) as (here,):
            try:
                if self.format == "csv":
                    batches, schema = CsvFile(self.path, self.options, here).batches(), None
                else:
                    opened = pyarrow.dataset.dataset(here, format=self.format)
                    schema = opened.schema
                    if groups is not None:
                        (whole,) = opened.get_fragments()
                        opened = whole.subset(row_group_ids=list(groups), schema=schema)
                    batches = opened.to_batches(batch_size=BATCH_ROWS)
                yield from at_least_one(batches, schema)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise BadInput(
                    f"{self.path} cannot be read as {self.format}: {error}", path=self.path
                ) from error


def at_least_one(batches: Iterable[pa.RecordBatch], schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    """Yield batches that are not too large; when there are none, one without rows."""
    is_none = True
    for batch in batches:
        for start in range(0, batch.num_rows or 1, BATCH_ROWS):
            is_none = False
            yield batch.slice(start, BATCH_ROWS)
    if is_none and schema is not None:
        yield pa.RecordBatch.from_pylist([], schema=schema)


def check_format(format: str | None) -> None:
    """Refuse a format that no file of rows has."""
    if format is not None and format not in _FORMATS:
        names = "', '".join(_FORMATS)
        raise BadInput(f"format is {format!r}: rows of one type come from '{names}' files", format=format)


def column_file(path: str, format: str | None, options: Mapping[str, str]) -> ColumnFile:
    """Return a file of rows; its format is told by its name, or given."""
    told = format or format_told(path)
    return ColumnFile(path, told if told in _FORMATS else "parquet", options)


def format_told(path: str) -> str:
    """Return the format that a file's name tells."""
    plain = path
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    ending = plain.rpartition(".")[2].lower()
    return _ENDINGS.get(ending, ending)
