"""Reading a source into intakes: blocks the quick way where they are plainly right, else line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.parse.fast_json import Doubt, QuickRows, read_block
from omnigraph.execution.load.parse.strict_json import BadRecord, RecordReader, parse_line
from omnigraph.execution.load.sources.arrow_columns import rows_of_batch, table_of
from omnigraph.execution.load.sources.json_rows import JsonRows
from omnigraph.execution.load.sources.line_files import FileSource, Lines
from omnigraph.execution.load.sources.record_location import Places, place_at
from omnigraph.execution.load.sources.sources import Source
from omnigraph.execution.load.sources.table_source import RowView, TableSource
from omnigraph.execution.load.stage.intake import TableIntake
from omnigraph.execution.load.stage.parallel_blocks import read_ahead
from omnigraph.graph.write.integrity.problems import Problem

Skipped = Callable[[int, bytes | Mapping[str, Any]], None]


def _ignore(_: int, __: bytes | Mapping[str, Any]) -> None:
    """Let a skipped record go."""


class Reading:
    """One pass over a source. A record's place is one number: its file's, and its line's."""

    def __init__(
        self,
        source: Source,
        catalog: Catalog,
        intake_of: Callable[[TableType], TableIntake],
        report: Callable[[Sequence[Problem]], None],
    ) -> None:
        self._source = source
        self._catalog = catalog
        self._reader = RecordReader(catalog)
        self._intake_of = intake_of
        self._report = report
        self._places = Places(source)

    def run(self, skip: frozenset[int] = frozenset(), skipped: Skipped = _ignore) -> None:
        """Send every record to its table's intake, but those at the places to skip, which `skipped` gets."""
        if isinstance(self._source, TableSource):
            self._run_tables(self._source, skip, skipped)
        elif isinstance(self._source, FileSource):
            self._run_files(self._source, skip, skipped)
        else:
            for place, record in enumerate(self._source.records, 1):
                skipped(place, record) if place in skip else self._take(place, record)

    def _run_files(self, source: FileSource, skip: frozenset[int], skipped: Skipped) -> None:
        files = {path: place_at(number, 0) for number, path in enumerate(source.paths)}

        def quickly(block: Lines) -> list[QuickRows]:
            return read_block(self._catalog, block.data, block.first)

        for block, found in read_ahead(quickly, source.blocks()):
            file = files[block.file]
            if found is None or _has_any(block, file, skip):
                for place, text in _lines(block, file):
                    skipped(place, text) if place in skip else self._take(place, text)
            else:
                self._take_quick(found, file)

    def _take_quick(self, found: list[QuickRows], file: int) -> None:
        for part in found:
            places = pc.add(part.lines, pa.scalar(file, pa.int64()))
            self._intake_of(part.table).take_batch(part.rows, places, part.explicit)

    def _run_tables(self, source: TableSource, skip: frozenset[int], skipped: Skipped) -> None:
        tables = {name: table_of(self._catalog, name) for name in source.type_names()}
        occurring: set[str] = set()
        for file, pieces in source.parts():
            if source.format(file) == "json":
                rows = source.json_rows(file, tables)
                occurring |= self._take_json(rows, pieces, place_at(file, 0), skip, skipped)
                rows.check()
                continue
            first = place_at(file, 1)
            for batch in pieces:
                assert not isinstance(batch, Lines)
                for view, columns, numbers in source.views(file, batch):
                    if columns.num_rows:
                        occurring.add(tables[view.table].table_key)
                        self._take_columns(tables[view.table], view, columns, first + numbers, skip, skipped)
                first += batch.num_rows
        for table in tables.values():
            # A type that is named without any row counts as occurring: an overwrite then empties it. One
            # whose rows were all left out does not.
            if table.table_key not in occurring:
                self._intake_of(table)

    def _take_json(
        self,
        rows: JsonRows,
        blocks: Iterable[Lines],
        file: int,
        skip: frozenset[int],
        skipped: Skipped,
    ) -> set[str]:
        """Take the rows of a file of JSON, and return the keys of the types that they are of."""
        occurring: set[str] = set()
        for block, found in read_ahead(rows.read_block, blocks):
            if found is not None and not _has_any(block, file, skip):
                rows.took_block()
                occurring |= {part.table.table_key for part in found}
                self._take_quick(found, file)
                continue
            for place, text in _lines(block, file):
                try:
                    records = rows.records(text)
                except BadRecord as bad:
                    occurring |= {table.table_key for table in rows.tables}
                    skipped(place, text) if place in skip else self._refuse(place, bad)
                    continue
                for table, record in records:
                    occurring.add(table.table_key)
                    skipped(place, record) if place in skip else self._take(place, record)
        return occurring

    def _take_columns(
        self,
        table: TableType,
        view: RowView,
        batch: pa.RecordBatch,
        places: npt.NDArray[np.int64],
        skip: frozenset[int],
        skipped: Skipped,
    ) -> None:
        try:
            if skip and not skip.isdisjoint(places.tolist()):
                raise Doubt
            part = rows_of_batch(table, view, batch)
        except Doubt:
            for place, record in zip(places.tolist(), view.records(table, batch), strict=True):
                skipped(place, record) if place in skip else self._take(place, record)
        else:
            self._intake_of(part.table).take_batch(part.rows, pa.array(places), part.explicit)

    def _take(self, place: int, record: bytes | Mapping[str, Any]) -> None:
        try:
            row = self._reader.read(parse_line(record) if isinstance(record, bytes) else record)
        except BadRecord as bad:
            self._refuse(place, bad)
        else:
            self._intake_of(row.table).take(row.values, place, row.explicit)

    def _refuse(self, place: int, bad: BadRecord) -> None:
        named = self._places(place)
        self._report([replace(problem, place=named) for problem in bad.problems])


def _has_any(block: Lines, file: int, places: frozenset[int]) -> bool:
    if not places:
        return False
    last = block.first + block.data.count(b"\n")
    return any(file | block.first <= place <= file | last for place in places)


def _lines(block: Lines, file: int) -> Iterator[tuple[int, bytes]]:
    for line, text in enumerate(block.data.split(b"\n"), block.first):
        if text.strip():
            yield file | line, text
