"""Files that users name to be read: paths, globs, `file://` and `s3://`; `.gz` and `.zst` are unpacked."""

from __future__ import annotations

import glob
import gzip
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from omnigraph.base.errors import BadInput, NotFound, OmniError
from omnigraph.base.handed.process_folders import working_folder
from omnigraph.storage.objects.s3 import open_s3

_S3 = "s3://"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAGIC = re.compile(r"[*?\[]")
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_COPY_BYTES = 8 * 2**20
REJECTED = ".rejected"
"""Part of the name of a file of rejected records; no glob matches it that does not say so itself."""


def find_files(address: str, options: Mapping[str, str]) -> list[str]:
    """Return the files that a path, a glob or an address means, sorted; none at all is an error.

    A glob leaves out files of rejected records: what a load has put beside its source is not a part of it.
    """
    found = _in_bucket(address, options) if address.startswith(_S3) else _on_disk(address)
    if not found and (inside := list_folder(address, options)):
        found = inside
    if REJECTED not in address:
        found = [path for path in found if REJECTED not in path.rpartition("/")[2]]
    if not found:
        raise BadInput(f"there is no file {address}: check the path", path=address)
    return found


def list_folder(address: str, options: Mapping[str, str]) -> list[str]:
    """Return the files of a folder and the folders in it, sorted, but for those that Spark and others hide.

    Names that begin with `_` or `.` are not data: `_SUCCESS`, checksums, files that are being written.
    """
    if address.startswith(_S3):
        bucket, _, key = address.removeprefix(_S3).partition("/")
        folder = key.rstrip("/")
        paths = [info.path for info in open_s3(bucket, options).list(folder)] if bucket and folder else []
        return sorted(f"{_S3}{bucket}/{path}" for path in paths if not _is_hidden(path.removeprefix(folder)))
    root = Path(local_path(address))
    inside = (path for path in root.rglob("*") if path.is_file()) if root.is_dir() else ()
    return sorted(str(path) for path in inside if not _is_hidden(path.relative_to(root).as_posix()))


def is_folder(address: str, options: Mapping[str, str]) -> bool:
    """Return whether an address names a folder, not a file or a glob."""
    if address.startswith(_S3):
        return address.endswith("/") or (_MAGIC.search(address) is None and not _in_bucket(address, options))
    return Path(local_path(address)).is_dir()


def local_path(address: str) -> str:
    """Return the path of a file address; any other address is as it is."""
    is_file = address.lower().startswith("file://")
    return unquote(urlsplit(address).path) if is_file else address


def partition_values(path: str) -> dict[str, str | None]:
    """Return what folders such as `day=2026-01-31` say of all rows of a file in them."""
    found = (folder.partition("=") for folder in path.split("/")[:-1])
    return {
        unquote(name): None if value == _NO_PARTITION else unquote(value)
        for name, equals, value in found
        if equals and name
    }


def _is_hidden(path: str) -> bool:
    return any(name.startswith(("_", ".")) and "=" not in name for name in path.split("/"))


def read_pieces(address: str, options: Mapping[str, str], size: int) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked, in pieces of at most this size."""
    with _readable(address), _open(address, options) as packed, _unpack(address, packed) as file:
        while piece := file.read(size):
            yield piece


def read_range(address: str, options: Mapping[str, str], size: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines that begin in a range of an unpacked file's bytes, in pieces of about this size."""
    if start >= end:
        return
    with _readable(address), _open(address, options) as file:
        file.seek(max(start - 1, 0))
        # A line begins after a line's end; the byte before the range may be one.
        at, skipping = max(start - 1, 0), start > 0
        while piece := file.read(size):
            if skipping:
                cut = piece.find(b"\n") + 1
                if not cut:
                    at += len(piece)
                    continue
                at, piece, skipping = at + cut, piece[cut:], False
                if at >= end:
                    return
            last = piece.find(b"\n", max(end - 1 - at, 0))
            if last >= 0:
                yield piece[: last + 1]
                return
            if piece:
                yield piece
            at += len(piece)


def own_folder() -> str | None:
    """Return the folder that relative paths of this process begin at, unless it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


@contextmanager
def within(folder: str | None) -> Iterator[None]:
    """Let relative paths begin at a folder of another process, where this machine has it."""
    if folder is None or not Path(folder).is_dir():
        yield
        return
    with chdir(folder):
        yield


def can_be_cut(address: str) -> bool:
    """Return whether parts of a file can be read by themselves."""
    return not address.endswith((".gz", ".zst"))


def file_size(address: str, options: Mapping[str, str]) -> int:
    """Return the number of bytes that a file takes, packed or not."""
    with _readable(address):
        if address.startswith(_S3):
            bucket, key = _bucket_and_key(address)
            return open_s3(bucket, options).size(key)
        return Path(address).stat().st_size


@contextmanager
def on_disk(addresses: Sequence[str], options: Mapping[str, str]) -> Iterator[list[str]]:
    """Give the paths of files as they are, those of a bucket copied to a temporary folder."""
    with working_folder("input") as folder:
        yield [_local_copy(item, options, Path(folder, str(at))) for at, item in enumerate(addresses)]


def _on_disk(address: str) -> list[str]:
    path = address
    if match := _SCHEME.match(address):
        if match[0].lower() != "file://":
            raise BadInput(f"{address!r} has a scheme that cannot be read: use a path, file:// or s3://")
        path = unquote(urlsplit(address).path)
    if Path(path).is_file():
        return [path]
    return sorted(name for name in glob.glob(path, recursive=True) if Path(name).is_file())


def _in_bucket(address: str, options: Mapping[str, str]) -> list[str]:
    bucket, key = _bucket_and_key(address)
    magic = _MAGIC.search(key)
    if magic is None:
        return [] if key.endswith("/") else [address]
    folder = key[: magic.start()].rpartition("/")[0]
    pattern = re.compile(_as_regex(key))
    paths = (info.path for info in open_s3(bucket, options).list(folder))
    return sorted(f"{_S3}{bucket}/{path}" for path in paths if pattern.fullmatch(path))


def _as_regex(pattern: str) -> str:
    """Return a glob as a regular expression: only `**` goes through folders."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        parts.get(part) or (f"[{part[1:-1].replace('!', '^', 1)}]" if part[0] == "[" else re.escape(part))
        for part in re.findall(r"\*\*/|\*\*|\*|\?|\[[^]]+\]|.", pattern)
    )


def _bucket_and_key(address: str) -> tuple[str, str]:
    bucket, _, key = address.removeprefix(_S3).partition("/")
    if not bucket or not key:
        raise BadInput(f"{address!r} names no file: write s3://bucket/file", path=address)
    return bucket, key


@contextmanager
def _open(address: str, options: Mapping[str, str]) -> Iterator[IO[bytes]]:
    if address.startswith(_S3):
        bucket, key = _bucket_and_key(address)
        with open_s3(bucket, options).reader(key, _COPY_BYTES) as remote:
            yield cast(IO[bytes], remote)
    else:
        with open(address, "rb") as file:
            yield file


@contextmanager
def _unpack(address: str, packed: IO[bytes]) -> Iterator[Any]:
    if address.endswith(".gz"):
        with gzip.GzipFile(fileobj=packed) as file:
            yield file
    elif address.endswith(".zst"):
        with pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd") as file:
            yield file
    else:
        yield packed


def _local_copy(address: str, options: Mapping[str, str], folder: Path) -> str:
    if not address.startswith(_S3):
        return address
    folder.mkdir()
    target = folder / address.rpartition("/")[2]
    with _readable(address), _open(address, options) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, _COPY_BYTES)
    return str(target)


@contextmanager
def _readable(address: str) -> Iterator[None]:
    try:
        yield
    except NotFound:
        raise BadInput(f"there is no file {address}: check the path", path=address) from None
    except OmniError:
        raise
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise BadInput(f"{address} cannot be read: {error}", path=address) from error
