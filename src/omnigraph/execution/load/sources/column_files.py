"""Files of rows: Parquet, ORC, CSV, Arrow and JSON. Each file has its own format and columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.sources.csv_file import CsvFile
from omnigraph.execution.load.sources.csv_lines import CsvLines
from omnigraph.execution.load.sources.line_files import WholeLines, read_line_blocks
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.storage.files.inputs import file_size, on_disk, partition_values

READ_BATCH_ROWS = 65_536
COLUMN_FORMATS = ("parquet", "csv", "orc", "arrow")
"""Formats that cannot hold graph records."""
_ROW_FORMATS = ("parquet", "csv", "json", "orc", "arrow")
_COMPRESSION_ENDINGS = (".gz", ".zst")
_FORMAT_BY_ENDING = {"jsonl": "json", "ndjson": "json", "feather": "arrow", "ipc": "arrow"}


@dataclass(frozen=True, slots=True)
class ColumnFile:
    """One file of rows, and the storage options for its address."""

    path: str
    format: str
    options: Mapping[str, str] = field(repr=False)
    groups: tuple[int, ...] | None = None
    """The row groups of a Parquet file to read; None for all."""
    partitions: tuple[tuple[str, str | None], ...] = ()
    """Columns that the names of folders give, with the value of all rows as a string."""
    _csv_lines: list[CsvLines] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns whose values are strings to be parsed by the type of the property."""
        return tuple(name for name, _ in self.partitions)

    def size_bytes(self) -> int:
        """Return the size of the whole file in bytes."""
        return file_size(self.path, self.options)

    def splits(self, size: int) -> Iterator[ColumnFile]:
        """Yield parts of about `size` bytes, or the whole file if it cannot be cut."""
        if self.format != "parquet" or "://" in self.path:
            yield self
            return
        try:
            metadata = pq.read_metadata(self.path)
        except (pa.ArrowException, OSError):
            yield self  # reading it raises the error
            return
        groups: list[int] = []
        taken = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            groups.append(number)
            taken += sum(group.column(at).total_compressed_size for at in range(group.num_columns))
            if taken >= size:
                yield replace(self, groups=tuple(groups))
                groups, taken = [], 0
        if groups or metadata.num_row_groups == 0:
            yield replace(self, groups=tuple(groups))

    def json_lines(self) -> Iterator[WholeLines] | None:
        """Return the lines of a JSON file, to be parsed by property type; None for other formats."""
        if self.format == "json" and self.partitions:
            names = ", ".join(self.text_columns)
            raise BadInput(
                f"{self.path} is in folders that stand for columns ({names}), which Parquet, ORC, Arrow and "
                "CSV files may, not JSON: write the columns into the file",
                path=self.path,
            )
        return read_line_blocks(self.path, self.options) if self.format == "json" else None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches, only of `groups` if given; an empty file yields an empty batch with its columns."""
        with on_disk([self.path], self.options) as (here,):
            try:
                if self.format == "csv":
                    batches, schema = CsvFile(self.path, self.options, here).batches(), None
                else:
                    opened = pyarrow.dataset.dataset(here, format=self.format)
                    schema = opened.schema
                    if self.groups is not None:
                        (whole,) = opened.get_fragments()
                        opened = whole.subset(row_group_ids=list(self.groups), schema=schema)
                    batches = opened.to_batches(batch_size=READ_BATCH_ROWS)
                for batch in limit_batches(batches, schema):
                    yield self._add_partitions(batch)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise BadInput(
                    f"{self.path} cannot be read as {self.format}: {error}", path=self.path
                ) from error

    def _add_partitions(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, value in self.partitions:
            if name not in batch.schema.names:
                batch = batch.append_column(name, pa.array([value] * batch.num_rows, pa.string()))
        return batch

    def locate(self, at: int, number: int) -> RecordPlace:
        """Return the place of a row for people: its number or, in CSV and JSON, the line it begins on."""
        if self.format == "json":
            return RecordPlace(at, number, "line", self.path)
        if self.format != "csv":
            return RecordPlace(at, number, "row", self.path)
        if not self._csv_lines:
            self._csv_lines.append(CsvLines.of(self.path, self.options))
        return RecordPlace(at, self._csv_lines[0].line(number), "csv line", self.path)


def limit_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    """Yield batches of at most READ_BATCH_ROWS rows; one empty batch if there are none."""
    is_none = True
    for batch in batches:
        for start in range(0, batch.num_rows or 1, READ_BATCH_ROWS):
            is_none = False
            yield batch.slice(start, READ_BATCH_ROWS)
    if is_none and schema is not None:
        yield pa.RecordBatch.from_pylist([], schema=schema)


def check_format(format: str | None) -> None:
    """Refuse an unknown format."""
    if format is not None and format not in _ROW_FORMATS:
        names = "', '".join(_ROW_FORMATS)
        raise BadInput(f"format is {format!r}: rows of one type come from '{names}' files", format=format)


def open_column_file(
    path: str, format: str | None, options: Mapping[str, str], folder: str | None = None
) -> ColumnFile:
    """Return a file of rows; without a format, it follows from the name.

    Of a file that was found in a folder, the names of folders in between may stand for columns.
    """
    wanted = format or guess_format(path)
    given = partition_values(path.removeprefix(folder)) if folder is not None else {}
    kind = wanted if wanted in _ROW_FORMATS else "parquet"
    return ColumnFile(path, kind, options, partitions=tuple(given.items()))


def guess_format(path: str) -> str:
    """Return the format that the ending of a file's name suggests."""
    plain = path
    for ending in _COMPRESSION_ENDINGS:
        plain = plain.removesuffix(ending)
    ending = plain.rpartition(".")[2].lower()
    return _FORMAT_BY_ENDING.get(ending, ending)
