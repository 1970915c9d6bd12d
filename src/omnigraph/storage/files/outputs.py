"""Files that users name to be written: they appear whole or not at all; `.gz` and `.zst` are packed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from omnigraph.base.errors import BadInput, Unavailable
from omnigraph.base.ids import new_ulid


def local_path(address: str | os.PathLike[str]) -> Path:
    """Return the path of a file to write, from a path or a `file://` address."""
    if not isinstance(address, str | os.PathLike) or not isinstance(text := os.fspath(address), str):
        raise BadInput(f"{address!r} is not the path of a file")
    if text.startswith("file://"):
        if urlsplit(text).netloc not in ("", "localhost"):
            raise BadInput(f"{text!r} is on another machine: write file:///absolute/path", path=text)
        return Path(unquote(urlsplit(text).path))
    if "://" in text:
        raise BadInput(f"{text} is not on this machine: give the path of a file", path=text)
    return Path(text)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write; it takes its name, stored, when the block ends well, and vanishes otherwise.

    A file that has the name already stays as it was until then.
    """
    draft = path.with_name(f".{path.name}.{new_ulid()}.part")
    try:
        with draft.open("xb") as raw, _pack(path, raw) as file:
            yield file
        _store(draft)
        os.replace(draft, path)
        _store(path.parent)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error}", path=str(path)) from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


@contextmanager
def _pack(path: Path, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix == ".gz":
        # Neither name nor time: the same content gives the same bytes.
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield cast(IO[bytes], file)
    elif path.suffix == ".zst":
        sink: Any = pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd")
        yield sink
        sink.close()
    else:
        yield raw


def _store(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
