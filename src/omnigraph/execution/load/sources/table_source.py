"""Columns from the program or from files as a source of rows: of one type, or of several by rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.catalog.keys import EndTypes, end_types
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.load.parse.strict_json import BadRecord
from omnigraph.execution.load.sources.arrow_columns import rows_of_batch, table_of
from omnigraph.execution.load.sources.column_types import ColumnCheck, find_cut_columns
from omnigraph.execution.load.sources.json_rows import (
    JsonRows,
    TypedJson,
    absent_column_error,
    property_names,
)
from omnigraph.execution.load.sources.line_files import LineBlock, WholeLines
from omnigraph.execution.load.sources.record_location import pack_place, unpack_place
from omnigraph.execution.load.sources.row_view import RowView
from omnigraph.execution.load.sources.source import (
    GivenRecord,
    LoadSource,
    LocatedRows,
    SourceBlock,
    SparkFrame,
    Split,
)
from omnigraph.graph.model.stored_columns import NeedsStrictReader
from omnigraph.graph.write.integrity.places import RecordPlace

Numbers = npt.NDArray[np.int64]
View = tuple[RowView, pa.RecordBatch, Numbers]
"""Rows of one type made from a batch, and the numbers of the rows they were made from."""
_SPLIT_BATCHES = 4


class RowPart(Protocol):
    """Rows of a source that are numbered together: a file, or all rows from the program."""

    @property
    def path(self) -> str | None:
        """The file; None for rows from the program."""

    @property
    def format(self) -> str | None:
        """The format of the file."""

    @property
    def text_columns(self) -> Sequence[str]:
        """Columns whose values are strings to be parsed, beside all those of a CSV file."""

    def size_bytes(self) -> int | None:
        """Return the size of the file in bytes."""

    def splits(self, size: int) -> Iterator[RowPart]:
        """Yield picklable parts of about `size` bytes."""

    def json_lines(self) -> Iterator[WholeLines] | None:
        """Return the rows as lines of JSON; None if they are columns."""

    def batches(self) -> Iterable[pa.RecordBatch]:
        """Return the rows as columns."""

    def locate(self, at: int, number: int) -> RecordPlace:
        """Return the location of a row for people, from its place and number."""


class RowShape(Protocol):
    """Which records the rows of a source make; it can be pickled."""

    def type_names(self, parts: Sequence[RowPart]) -> Sequence[str]:
        """Return the types of the records of these parts."""

    def is_distinct(self, type_name: str) -> bool:
        """Return whether repeated records of this type count as one."""

    def views(self, part: RowPart, batch: pa.RecordBatch) -> Iterator[View]:
        """Yield a batch for each type of record that the rows make, with row numbers."""

    def json_rows(self, path: str, tables: Mapping[str, TableType]) -> JsonRows:
        """Return the reader of a JSON file; `tables` holds the types of the source by name."""


@dataclass(frozen=True, slots=True)
class OneType:
    """`RowShape`: every row is a record of one type; `mapping` has property names by column name."""

    table: str
    mapping: Mapping[str, str]

    def type_names(self, parts: Sequence[RowPart]) -> Sequence[str]:
        return (self.table,)

    def is_distinct(self, type_name: str) -> bool:
        return False

    def views(self, part: RowPart, batch: pa.RecordBatch) -> Iterator[View]:
        names = batch.schema.names
        for column in self.mapping:
            if column not in names:
                raise absent_column_error(column, part.path, suggest(column, names) or "")
        unparsed = names if part.format == "csv" else [name for name in part.text_columns if name in names]
        texts = property_names(unparsed, self.mapping)
        view = RowView(self.table, self.mapping, texts)
        yield view, batch, np.arange(batch.num_rows, dtype=np.int64)

    def json_rows(self, path: str, tables: Mapping[str, TableType]) -> JsonRows:
        return TypedJson(tables[self.table], self.mapping, path)


@dataclass(frozen=True, slots=True)
class GivenRows:
    """`RowPart`: rows from the program."""

    batches: Callable[[], Iterable[pa.RecordBatch]]
    path = None
    format = None
    text_columns = ()

    def size_bytes(self) -> None:
        """Return None: the size is not known."""

    def splits(self, size: int) -> Iterator[GivenRows]:
        """Yield a few batches at a time, as Arrow streams."""
        batches = iter(self.batches())
        for some in iter(lambda: list(islice(batches, _SPLIT_BATCHES)), []):
            yield GivenRows(partial(_read_arrow_stream, to_arrow_stream(pa.Table.from_batches(some))))

    def json_lines(self) -> None:
        """Return None: the rows are columns."""

    def locate(self, at: int, number: int) -> RecordPlace:
        return RecordPlace(at, number)


def to_arrow_stream(rows: pa.Table) -> bytes:
    """Return rows as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _read_arrow_stream(stream: bytes) -> Iterable[pa.RecordBatch]:
    return list(pa.ipc.open_stream(stream))


class TableSource(LoadSource):
    """Rows of columns, or lines of JSON whose members are columns."""

    def __init__(self, shape: RowShape, parts: Sequence[RowPart], frame: Any = None) -> None:
        """Take which records the rows make, the rows, and the Spark data frame if they are in one."""
        self.shape, self.parts = shape, tuple(parts)
        self.cut: set[str] = set()
        self.frame = None if frame is None else SparkFrame(frame, partial(rows_of_partition, shape))

    def blocks(self, catalog: Catalog) -> Iterator[SourceBlock]:
        """Yield the rows part by part; each part numbers its own rows."""
        tables = {name: table_of(catalog, name) for name in self.type_names()}
        ends = {name: end_types(catalog, table) for name, table in tables.items()}
        check = ColumnCheck(catalog, self.locate)
        for number, part in enumerate(self.parts):
            if (lines := part.json_lines()) is not None:
                yield from self._json_blocks(number, part, lines, tables)
                continue
            first, checked = pack_place(number, 1), set[str]()
            for batch in part.batches():
                count = batch.num_rows
                for view, columns, numbers in self.shape.views(part, batch):
                    table = tables[view.table]
                    if view.table not in checked:
                        checked.add(view.table)
                        check.check(table, view, columns, first + numbers, ends[view.table])
                    self.cut |= find_cut_columns(table, view, columns, self.cut)
                    yield ColumnBlock(table, view, columns, first + numbers, count, ends[view.table])
                    count = 0  # other types are made from the same rows
                first += batch.num_rows

    def _json_blocks(
        self, number: int, part: RowPart, blocks: Iterable[WholeLines], tables: Mapping[str, TableType]
    ) -> Iterator[SourceBlock]:
        rows = self.shape.json_rows(part.path or "", tables)
        for lines in blocks:
            yield LineBlock(lines, pack_place(number, 0), rows.read_block, partial(_records, rows))
        yield _EndOfFile(rows)

    def type_names(self) -> Sequence[str]:
        return self.shape.type_names(self.parts)

    def is_distinct(self, type_name: str) -> bool:
        return self.shape.is_distinct(type_name)

    def locate(self, at: int) -> RecordPlace:
        file, number = unpack_place(at)
        return self.parts[file].locate(at, number)

    def paths(self) -> Sequence[str]:
        return [part.path for part in self.parts if part.path is not None]

    def size_bytes(self) -> int | None:
        sizes = [size for part in self.parts if (size := part.size_bytes()) is not None]
        return sum(sizes) if sizes else None

    def splits(self, size: int) -> Iterator[Split]:
        """Yield the parts, cut where they can be."""
        for number, part in enumerate(self.parts if self.frame is None else ()):
            for piece in part.splits(size):
                yield Split(TableSource(self.shape, [piece]), number)


def rows_of_partition(shape: RowShape, batches: Iterable[pa.RecordBatch]) -> TableSource:
    """Return the rows of a partition of a data frame as a source."""
    return TableSource(shape, [GivenRows(lambda: batches)])


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """`SourceBlock` of columns."""

    table: TableType
    view: RowView
    batch: pa.RecordBatch
    places: Numbers
    count: int
    ends: EndTypes
    may_be_read_ahead = False

    @property
    def first(self) -> int:
        return int(self.places[0]) if len(self.places) else 0

    @property
    def last(self) -> int:
        return int(self.places[-1]) if len(self.places) else 0

    def rows(self) -> list[LocatedRows]:
        """Return the rows if their columns fit, or raise NeedsStrictReader."""
        if not self.batch.num_rows:
            return []
        if self.view.failed:
            raise NeedsStrictReader
        return [(rows_of_batch(self.table, self.view, self.batch, self.ends), pa.array(self.places))]

    def records(self) -> Iterator[GivenRecord]:
        types, failed = (self.table.table_key,), self.view.failed
        records = self.view.records(self.table, self.batch, self.ends)
        for number, (place, record) in enumerate(zip(self.places.tolist(), records, strict=True)):
            yield place, record, types, BadRecord(failed[number]) if number in failed else None


def _records(rows: JsonRows, place: int, line: bytes) -> Iterator[GivenRecord]:
    try:
        made = rows.records(line)
    except BadRecord as bad:
        yield place, line, [table.table_key for table in rows.tables], bad
        return
    for table, record in made:
        yield place, record, (table.table_key,), None


@dataclass(frozen=True, slots=True)
class _EndOfFile:
    """`SourceBlock` without records, read after all lines of a file: absent columns are known only then."""

    file: JsonRows
    first = last = count = 0
    may_be_read_ahead = False

    def rows(self) -> list[LocatedRows]:
        """Refuse columns that are named and occurred in no line."""
        self.file.check()
        return []

    def records(self) -> Iterator[GivenRecord]:
        return iter(())
