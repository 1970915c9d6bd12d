"""The parts of a source that tasks read; each is a source of its own, counted from its own first record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.mapping.mapped import MappedSource
from omnigraph.execution.load.mapping.mapping import MappingFile
from omnigraph.execution.load.sources.column_files import ColumnFile, Piece
from omnigraph.execution.load.sources.line_files import FileSource, Lines, whole_lines
from omnigraph.execution.load.sources.record_source import RecordSource
from omnigraph.execution.load.sources.sources import Source
from omnigraph.execution.load.sources.table_source import TableSource
from omnigraph.storage.files.inputs import read_pieces, read_range

_PIECE = 8 * 2**20


@dataclass(frozen=True, slots=True)
class LineRange:
    """The lines that begin in a range of a file's bytes; all lines of it when there is no range."""

    file: int
    """The number of the file in the source."""
    path: str
    options: Mapping[str, str] = field(repr=False)
    start: int = 0
    end: int | None = None

    def source(self) -> Source:
        """Return the lines as a source."""
        return _LineSource(self)


@dataclass(frozen=True, slots=True)
class SomeRecords:
    """Records of the program, sent along."""

    records: tuple[Any, ...] = field(repr=False)

    def source(self) -> Source:
        """Return the records as a source."""
        return RecordSource(list(self.records))


@dataclass(frozen=True, slots=True)
class TableShape:
    """Which type rows of columns are of, and property names by column name."""

    table: str
    mapping: Mapping[str, str]

    def source(self, batches: Iterable[Piece], files: Sequence[ColumnFile] = ()) -> TableSource:
        """Return batches as a source."""
        return TableSource(self.table, lambda: batches, self.mapping, files)


@dataclass(frozen=True, slots=True)
class MappedShape:
    """The rules that make nodes and edges of rows."""

    rules: MappingFile

    def source(self, batches: Iterable[Piece], files: Sequence[ColumnFile] = ()) -> TableSource:
        """Return batches as a source."""
        return MappedSource(self.rules, lambda: batches, files)


def shape_of(source: TableSource) -> TableShape | MappedShape:
    """Return what the rows of a source are, for parts of it."""
    if isinstance(source, MappedSource):
        return MappedShape(source.rules)
    return TableShape(source.table, dict(source.mapping))


@dataclass(frozen=True, slots=True)
class FilePart:
    """Rows of a file: all of them, or some row groups of Parquet."""

    shape: TableShape | MappedShape
    rows: ColumnFile
    file: int = 0
    """The number of the file in the source."""
    groups: tuple[int, ...] | None = None

    def source(self) -> Source:
        """Return the rows as a source."""
        return self.shape.source(self.rows.pieces(self.groups), (self.rows,))


@dataclass(frozen=True, slots=True)
class SomeBatches:
    """Rows of the program, sent along as an Arrow stream."""

    shape: TableShape | MappedShape
    stream: bytes = field(repr=False)

    def source(self) -> Source:
        """Return the rows as a source."""
        return self.shape.source(list(pa.ipc.open_stream(self.stream)))


@dataclass(frozen=True, slots=True)
class LineShape:
    """The first column is graph records of any type, a JSON text each."""

    def source(self, batches: Iterable[pa.RecordBatch]) -> FileSource:
        """Return batches as a source."""
        return _BatchLines(batches)


class RecordFrame(TableSource):
    """A Spark data frame whose only column is graph records, as JSON texts."""

    def __init__(self, frame: Any) -> None:
        super().__init__("", list, {}, frame=frame)


@dataclass(frozen=True, slots=True)
class FramePartition:
    """A partition of a Spark data frame; its rows come as the task's own input."""

    shape: TableShape | MappedShape | LineShape


Split = LineRange | SomeRecords | FilePart | SomeBatches | FramePartition


class _LineSource(FileSource):
    """A range of lines as a file of its own."""

    def __init__(self, part: LineRange) -> None:
        super().__init__((part.path,), part.options)
        self._part = part
        self.lines = 0
        """How many lines have been read."""

    def blocks(self) -> Iterator[Lines]:
        """Yield the lines block by block."""
        part, first = self._part, 1
        pieces = (
            read_pieces(part.path, self.options, _PIECE)
            if part.end is None
            else read_range(part.path, self.options, _PIECE, part.start, part.end)
        )
        for data in whole_lines(pieces):
            yield Lines(part.path, first, data)
            first += data.count(b"\n")
            self.lines = first - 1


class _BatchLines(FileSource):
    """The texts of a partition as lines of a file."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        super().__init__(("records",))
        self._batches = batches
        self.lines = 0

    def blocks(self) -> Iterator[Lines]:
        """Yield the lines batch by batch; a text that is missing is a record that is wrong."""
        for batch in self._batches:
            texts = pc.fill_null(pc.utf8_trim_whitespace(batch.column(0).cast(pa.string())), "null")
            if pc.any(pc.match_substring(texts, "\n")).as_py():
                raise BadInput("a record of a stream must be one line of JSON: there are lines within one")
            data = "\n".join(texts.to_pylist()).encode()
            yield Lines(self.paths[0], self.lines + 1, data)
            self.lines += len(texts)


def lines_read(source: Source) -> int | None:
    """Return how many lines a source of lines has given so far; None for another source."""
    return source.lines if isinstance(source, _LineSource | _BatchLines) else None
