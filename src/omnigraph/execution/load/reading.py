"""Reading a source into intakes: blocks the quick way where they are plainly right, else line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.intake import TableIntake
from omnigraph.execution.load.quick import Doubt, read_block
from omnigraph.execution.load.reader import BadRecord, RecordReader, parse_line
from omnigraph.execution.load.sources import FileSource, Lines, Source
from omnigraph.graph.write.integrity.problems import Problem

_FILE_SHIFT = 40


class Reading:
    """One pass over a source. A record's place is one number: its file's, and its line's."""

    def __init__(
        self,
        source: Source,
        catalog: Catalog,
        intake_of: Callable[[TableType], TableIntake],
        report: Callable[[int, Sequence[Problem]], None],
    ) -> None:
        self._source = source
        self._catalog = catalog
        self._reader = RecordReader(catalog)
        self._intake_of = intake_of
        self._report = report

    def run(self, skip: frozenset[int] = frozenset()) -> None:
        """Send every record to its table's intake, but those at the places to skip."""
        if not isinstance(self._source, FileSource):
            for place, record in enumerate(self._source.records, 1):
                if place not in skip:
                    self._take(place, record)
            return
        files = {path: number << _FILE_SHIFT for number, path in enumerate(self._source.paths)}
        for block in self._source.blocks():
            file = files[block.file]
            if skip or not self._take_quickly(block, file):
                for place, text in _lines(block, file):
                    if place not in skip:
                        self._take(place, text)

    def _take_quickly(self, block: Lines, file: int) -> bool:
        try:
            found = read_block(self._catalog, block.data, block.first)
        except Doubt:
            return False
        for part in found:
            places = pc.add(part.lines, pa.scalar(file, pa.int64()))
            self._intake_of(part.table).take_batch(part.rows, places, part.explicit)
        return True

    def _take(self, place: int, record: bytes | Mapping[str, Any]) -> None:
        try:
            row = self._reader.read(parse_line(record) if isinstance(record, bytes) else record)
        except BadRecord as bad:
            text = place_text(self._source, place)
            self._report(place, [replace(problem, place=text) for problem in bad.problems])
        else:
            self._intake_of(row.table).take(row.values, place, row.explicit)


def place_text(source: Source, place: int) -> str:
    """Return a record's place as users write it: file and line, or the number of the record."""
    line = place & ((1 << _FILE_SHIFT) - 1)
    if isinstance(source, FileSource):
        return f"{source.paths[place >> _FILE_SHIFT]}:{line}"
    return f"record {line}"


def _lines(block: Lines, file: int) -> Iterator[tuple[int, bytes]]:
    for line, text in enumerate(block.data.split(b"\n"), block.first):
        if text.strip():
            yield file | line, text
