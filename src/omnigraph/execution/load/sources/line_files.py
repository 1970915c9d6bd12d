"""Files of lines, one JSON value each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.parse.fast_json import BlockRows, read_block
from omnigraph.execution.load.parse.strict_json import MAX_LINE_BYTES
from omnigraph.execution.load.sources.record_location import pack_place, unpack_place
from omnigraph.execution.load.sources.source import GivenRecord, LoadSource, LocatedRows, Split
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.storage.files.inputs import can_be_cut, file_size, read_pieces, read_range
from omnigraph.storage.objects.options import StorageOptions

_BLOCK_BYTES = 2 * 2**20
_SPLIT_BLOCK_BYTES = 8 * 2**20
_LINE_FEED = 10


@dataclass(frozen=True)
class WholeLines:
    """A block of whole lines of a file; `first` is the number of the first line."""

    first: int
    data: bytes

    @cached_property
    def count(self) -> int:
        """The number of line ends in the block."""
        # Several times as quick as `bytes.count`, which stops at each.
        return int(np.count_nonzero(np.frombuffer(self.data, np.uint8) == _LINE_FEED))


@dataclass(frozen=True, slots=True)
class LineBlock:
    """`SourceBlock` of lines."""

    lines: WholeLines
    file: int
    """The place before the first line of the file."""
    read_fast: Callable[[WholeLines], list[BlockRows]]
    """Returns the rows of all lines, or raises NeedsStrictReader."""
    read_line: Callable[[int, bytes], Iterable[GivenRecord]]
    """Returns the records that the line at a place makes."""
    may_be_read_ahead = True

    @property
    def first(self) -> int:
        return self.file | self.lines.first

    @property
    def last(self) -> int:
        """The place of the last line, whether it ends with a line feed or not."""
        return self.first + self.count

    @property
    def count(self) -> int:
        return self.lines.count

    def rows(self) -> list[LocatedRows]:
        file = pa.scalar(self.file, pa.int64())
        return [(part, pc.add(part.lines, file)) for part in self.read_fast(self.lines)]

    def records(self) -> Iterator[GivenRecord]:
        for place, line in enumerate(self.lines.data.split(b"\n"), self.first):
            if line.strip():
                yield from self.read_line(place, line)


class FileSource(LoadSource):
    """NDJSON files of graph records, read in blocks."""

    def __init__(
        self,
        paths: Sequence[str],
        options: Mapping[str, str] | None = None,
        *,
        span: tuple[int, int] | None = None,
        block_bytes: int | None = None,
    ) -> None:
        """Take paths or addresses, and storage options for the latter.

        With a span, only the lines that begin in this byte range of the one file are read.
        """
        self._paths = tuple(paths)
        self._options = StorageOptions(options or {})
        self._span, self._block_bytes = span, block_bytes or _BLOCK_BYTES

    def blocks(self, catalog: Catalog) -> Iterator[LineBlock]:
        for number, path in enumerate(self._paths):
            for lines in split_line_blocks(self._pieces(path)):
                yield as_graph_records(catalog, lines, pack_place(number, 0))

    def locate(self, at: int) -> RecordPlace:
        file, number = unpack_place(at)
        return RecordPlace(at, number, "line", self._paths[file])

    def paths(self) -> Sequence[str]:
        return self._paths

    def size_bytes(self) -> int:
        return sum(file_size(path, self._options) for path in self._paths)

    def splits(self, size: int) -> Iterator[Split]:
        """Yield byte ranges of each file that can be cut, and the other files whole."""
        for number, path in enumerate(self._paths):
            total = file_size(path, self._options) if can_be_cut(path) else 0
            parts = -(-total // size)
            spans = pairwise([total * part // parts for part in range(parts + 1)]) if parts > 1 else [None]
            for span in spans:
                lines = FileSource([path], self._options, span=span, block_bytes=_SPLIT_BLOCK_BYTES)
                yield Split(lines, number)

    def _pieces(self, path: str) -> Iterator[bytes]:
        if self._span is None:
            return read_pieces(path, self._options, self._block_bytes)
        return read_range(path, self._options, self._block_bytes, *self._span)


def as_graph_records(catalog: Catalog, lines: WholeLines, file: int) -> LineBlock:
    """Return lines as a block of graph records."""
    return LineBlock(
        lines,
        file,
        lambda lines: read_block(catalog, lines.data, lines.first),
        lambda place, line: ((place, line, (), None),),
    )


def read_line_blocks(path: str, options: Mapping[str, str]) -> Iterator[WholeLines]:
    """Yield the lines of one file block by block."""
    return split_line_blocks(read_pieces(path, options, _BLOCK_BYTES))


def split_line_blocks(pieces: Iterable[bytes]) -> Iterator[WholeLines]:
    """Yield the lines of the pieces of one file block by block."""
    first = 1
    for data in whole_lines(pieces):
        block = WholeLines(first, data)
        yield block
        first += block.count


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole lines; a line longer than MAX_LINE_BYTES is truncated to one byte more."""
    rest, skipping = b"", False
    for read in pieces:
        piece = read
        if skipping:
            end = piece.find(b"\n") + 1
            if not end:
                continue
            piece, skipping = piece[end:], False
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join((rest, memoryview(piece)[:cut]))  # copied once
            rest = piece[cut:]
        else:
            rest += piece
        if len(rest) > MAX_LINE_BYTES:
            yield rest[: MAX_LINE_BYTES + 1] + b"\n"
            rest, skipping = b"", True
    if rest:
        yield rest
