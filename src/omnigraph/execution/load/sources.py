"""Where records come from: files of NDJSON, and iterables of records."""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from omnigraph.base.errors import BadInput

_BLOCK = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Lines:
    """A block of whole lines of a file; the first of them has this number."""

    file: str
    first: int
    data: bytes


class FileSource:
    """NDJSON files, read in blocks; can be read more than once."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)

    def blocks(self) -> Iterator[Lines]:
        """Yield the files' lines block by block."""
        for path in self.paths:
            first = 1
            for data in _blocks(path):
                yield Lines(path, first, data)
                first += data.count(b"\n")


class RecordSource:
    """Records from memory. They are kept, so that they can be read more than once."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self.records: Sequence[Mapping[str, Any]] = records if isinstance(records, list) else list(records)


Source = FileSource | RecordSource


def open_source(source: Any) -> Source:
    """Return the source that a caller means: a path, a glob, several paths, or records."""
    if isinstance(source, str | os.PathLike):
        return FileSource(_expand(os.fspath(source)))
    if isinstance(source, Iterable):
        items = list(source)
        if items and all(isinstance(item, str | os.PathLike) for item in items):
            return FileSource([path for item in items for path in _expand(os.fspath(item))])
        return RecordSource(items)
    raise BadInput(f"cannot load from {type(source).__name__}: give a path, a list of paths, or records")


def _expand(path: str) -> list[str]:
    if Path(path).is_file():
        return [path]
    found = sorted(name for name in glob.glob(path, recursive=True) if Path(name).is_file())
    if not found:
        raise BadInput(f"there is no file {path}: check the path", path=path)
    return found


def _blocks(path: str) -> Iterator[bytes]:
    try:
        with _open(path) as file:
            rest = b""
            while chunk := file.read(_BLOCK):
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    yield rest + chunk[:cut]
                    rest = chunk[cut:]
                else:
                    rest += chunk
            if rest:
                yield rest
    except (OSError, EOFError) as error:
        raise BadInput(f"{path} cannot be read: {error}", path=path) from error


def _open(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return open(path, "rb")
