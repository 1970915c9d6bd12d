"""The line numbers of the rows of a CSV file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from omnigraph.storage.files.inputs import read_pieces

_READ_CHUNK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class CsvLines:
    """The line each row of a CSV file begins on; cells may hold line ends, blank lines are not rows."""

    rows: list[int]
    """The first row of each run of rows on successive lines."""
    ahead: list[int]
    """For each run, line number minus row number."""

    @staticmethod
    def of(path: str, options: Mapping[str, str]) -> CsvLines:
        """Count the lines of a file."""
        rows, ahead = [1], [1]
        row, is_inside = 0, False
        for number, line in enumerate(read_lines(path, options), 1):
            if not is_inside and line.strip(b"\r\n"):
                if row and number - row != ahead[-1]:
                    rows.append(row)
                    ahead.append(number - row)
                row += 1
            # A quote inside a quoted cell is doubled, so an odd number of quotes toggles between in and out.
            is_inside ^= line.count(b'"') % 2 == 1
        return CsvLines(rows, ahead)

    def line(self, row: int) -> int:
        """Return the line that a row begins on; the first after the header is row 1."""
        return row + self.ahead[bisect_right(self.rows, row) - 1]


def read_lines(path: str, options: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the lines of a file, each with its end."""
    yield from _split_lines(read_pieces(path, options, _READ_CHUNK_BYTES))


def _split_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        whole = (rest + piece).splitlines(keepends=True)
        rest = whole.pop() if whole and not whole[-1].endswith(b"\n") else b""
        yield from whole
    if rest:
        yield rest
