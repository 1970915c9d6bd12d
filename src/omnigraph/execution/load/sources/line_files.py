"""Files of lines, one JSON value each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnigraph.execution.load.parse.strict_json import LONGEST_LINE
from omnigraph.storage.files.inputs import read_pieces

_BLOCK = 2 * 2**20


@dataclass(frozen=True, slots=True)
class Lines:
    """A block of whole lines of a file; the first of them has this number."""

    file: str
    first: int
    data: bytes

    @property
    def count(self) -> int:
        """How many lines end in the block."""
        return self.data.count(b"\n")


class FileSource:
    """NDJSON files of graph records, read in blocks; can be read more than once."""

    def __init__(self, paths: Sequence[str], options: Mapping[str, str] | None = None) -> None:
        """Take paths or addresses, and how the storage behind the latter is reached."""
        self.paths = tuple(paths)
        self.options = dict(options or {})

    def blocks(self) -> Iterator[Lines]:
        """Yield the files' lines block by block."""
        for path in self.paths:
            yield from blocks_of(path, self.options)


def blocks_of(path: str, options: Mapping[str, str]) -> Iterator[Lines]:
    """Yield the lines of one file block by block."""
    first = 1
    for data in whole_lines(read_pieces(path, options, _BLOCK)):
        block = Lines(path, first, data)
        yield block
        first += block.count


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole lines; of a line that is longer than any record may be, only so much of it."""
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
            yield rest + piece[:cut]
            rest = piece[cut:]
        else:
            rest += piece
        if len(rest) > LONGEST_LINE:
            yield rest[: LONGEST_LINE + 1] + b"\n"
            rest, skipping = b"", True
    if rest:
        yield rest
