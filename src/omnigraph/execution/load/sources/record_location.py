"""The places of a source's records: numbers in columns, typed values wherever a record is named."""

from __future__ import annotations

from omnigraph.execution.load.sources.column_files import ColumnFile
from omnigraph.execution.load.sources.csv_lines import CsvLines
from omnigraph.execution.load.sources.line_files import FileSource
from omnigraph.execution.load.sources.sources import Source
from omnigraph.execution.load.sources.table_source import TableSource
from omnigraph.graph.write.integrity.places import RecordPlace

_FILE_SHIFT = 40
_NUMBER = (1 << _FILE_SHIFT) - 1


def place_at(file: int, number: int) -> int:
    """Return a place as one number: the file's in the source, and the line's or row's in the file."""
    return file << _FILE_SHIFT | number


class Places:
    """Gives the place of a record from its number."""

    def __init__(self, source: Source) -> None:
        """Take the source that the numbers count in."""
        self._source = source
        self._lines: dict[str, CsvLines] = {}

    def __call__(self, at: int) -> RecordPlace:
        """Return the place with this number."""
        file, number = at >> _FILE_SHIFT, at & _NUMBER
        source = self._source
        if isinstance(source, FileSource):
            return RecordPlace(at, number, "line", source.paths[file])
        if isinstance(source, TableSource) and source.files:
            named = source.files[file]
            if named.format == "csv":
                return RecordPlace(at, self._csv_line(named, number), "csv line", named.path)
            return RecordPlace(at, number, "line" if named.format == "json" else "row", named.path)
        return RecordPlace(at, number)

    def _csv_line(self, file: ColumnFile, row: int) -> int:
        if file.path not in self._lines:
            self._lines[file.path] = CsvLines.of(file.path, file.options)
        return self._lines[file.path].line(row)
