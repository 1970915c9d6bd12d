"""The places of a source's records: numbers in columns, typed values wherever a record is named."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from omnigraph.execution.load.sources import ColumnFiles, FileSource, Source, TableSource
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.storage.inputs import read_pieces

_FILE_SHIFT = 40
_NUMBER = (1 << _FILE_SHIFT) - 1
_PIECE = 2**20


def place_at(file: int, number: int) -> int:
    """Return a place as one number: the file's in the source, and the line's or row's in the file."""
    return file << _FILE_SHIFT | number


class Places:
    """Gives the place of a record from its number."""

    def __init__(self, source: Source) -> None:
        """Take the source that the numbers count in."""
        self._source = source
        self._lines: dict[str, _CsvLines] = {}

    def __call__(self, at: int) -> RecordPlace:
        """Return the place with this number."""
        file, number = at >> _FILE_SHIFT, at & _NUMBER
        source = self._source
        if isinstance(source, FileSource):
            return RecordPlace(at, number, "line", source.paths[file])
        if isinstance(source, TableSource) and source.files is not None:
            path = source.files.paths[file]
            if source.files.format == "csv":
                return RecordPlace(at, self._csv_line(source.files, path, number), "csv line", path)
            return RecordPlace(at, number, "row", path)
        return RecordPlace(at, number)

    def _csv_line(self, files: ColumnFiles, path: str, row: int) -> int:
        if path not in self._lines:
            self._lines[path] = _CsvLines.of(_lines(read_pieces(path, files.options, _PIECE)))
        return self._lines[path].line(row)


@dataclass(frozen=True, slots=True)
class _CsvLines:
    """Which line each row of a CSV file begins on; cells may hold line ends, and blank lines are no rows."""

    rows: list[int]
    """The first row of every run of rows on successive lines."""
    ahead: list[int]
    """How many lines the rows of that run are ahead of their numbers."""

    @staticmethod
    def of(lines: Iterable[bytes]) -> _CsvLines:
        rows, ahead = [1], [1]
        row, is_inside = 0, False
        for number, line in enumerate(lines, 1):
            if not is_inside and line.strip(b"\r\n"):
                if row and number - row != ahead[-1]:
                    rows.append(row)
                    ahead.append(number - row)
                row += 1
            # A quote inside a quoted cell is written twice, so that their number tells where we are.
            is_inside ^= line.count(b'"') % 2 == 1
        return _CsvLines(rows, ahead)

    def line(self, row: int) -> int:
        return row + self.ahead[bisect_right(self.rows, row) - 1]


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, each with its end."""
    rest = b""
    for piece in pieces:
        whole = (rest + piece).splitlines(keepends=True)
        rest = whole.pop() if whole and not whole[-1].endswith(b"\n") else b""
        yield from whole
    if rest:
        yield rest
