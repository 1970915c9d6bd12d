"""Folders that users name to be written, on disk or in a bucket: complete only once they say so."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, cast

from omnigraph.base.errors import AlreadyExists, BadInput, OmniError, Unavailable
from omnigraph.base.ids import new_ulid
from omnigraph.storage.files.outputs import local_path, whole_file
from omnigraph.storage.objects.options import StorageOptions
from omnigraph.storage.objects.s3 import RemoteStore, open_s3

DONE = "_SUCCESS"
_UNFINISHED = "_UNFINISHED"
_S3 = "s3://"


class OutputFolder(Protocol):
    """A folder in the making; it can be pickled, so that several processes write its files.

    A file is there whole or not at all, and writing it twice leaves the second. The folder is complete when
    it has a file `_SUCCESS`. On disk it does not have its name before.
    """

    @property
    def address(self) -> str:
        """Where the folder is, once it is finished."""

    def start(self) -> None:
        """Claim the address, at which there must be nothing."""

    def file(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """Give a file below the folder to write."""

    def finish(self, note: bytes) -> None:
        """Make the folder complete; the note is the content of `_SUCCESS`."""

    def abandon(self) -> None:
        """Take away what was written."""


def output_folder(target: str | os.PathLike[str], options: Mapping[str, str]) -> OutputFolder:
    """Return the folder of a path, a `file://` or an `s3://` address; nothing is written yet."""
    text = os.fspath(target)
    if isinstance(text, str) and text.startswith(_S3):
        place = text.removeprefix(_S3).strip("/")
        if "/" not in place:
            raise BadInput(f"{text!r} names a whole bucket: write s3://bucket/folder", path=text)
        return BucketFolder(place, StorageOptions(options))
    path = local_path(target).absolute()
    return DiskFolder(path, path.with_name(f".{path.name}.{new_ulid()}.part"))


@dataclass(frozen=True, slots=True)
class DiskFolder:
    """`OutputFolder` on a disk that all writers share."""

    target: Path
    draft: Path

    @property
    def address(self) -> str:
        """The path."""
        return str(self.target)

    def start(self) -> None:
        """Make the folder under another name."""
        with _translate(self.address):
            if self.target.exists() and not (self.target.is_dir() and not any(self.target.iterdir())):
                raise _taken_error(self.address)
            self.draft.mkdir()

    @contextmanager
    def file(self, path: str) -> Iterator[IO[bytes]]:
        """Give a file to write, under a name of its own until it is whole."""
        where = self.draft / path
        with _translate(self.address):
            if not self.draft.exists():  # a straggler must not bring an abandoned folder back
                raise Unavailable(f"{self.address} is no longer being written", path=self.address)
            where.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(where) as file:
            yield file

    def finish(self, note: bytes) -> None:
        """Give the folder its name."""
        with _translate(self.address):
            for left in self.draft.rglob(".*.part"):  # of tasks that were killed
                left.unlink(missing_ok=True)
            with whole_file(self.draft / DONE) as file:
                file.write(note)
            os.rename(self.draft, self.target)

    def abandon(self) -> None:
        """Remove the draft."""
        shutil.rmtree(self.draft, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class BucketFolder:
    """`OutputFolder` in a bucket of S3."""

    place: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def address(self) -> str:
        """The address."""
        return _S3 + self.place

    @property
    def _store(self) -> RemoteStore:
        return open_s3(self.place, self.options)

    def start(self) -> None:
        """Leave a mark, which only one of several can."""
        store = self._store
        if store.exists(""):
            raise _taken_error(self.address)
        store.create(_UNFINISHED, b"")

    @contextmanager
    def file(self, path: str) -> Iterator[IO[bytes]]:
        """Give a temporary file, which is sent when it is whole."""
        with tempfile.NamedTemporaryFile(prefix="omnigraph-output-") as file:
            yield cast(IO[bytes], file)
            file.flush()
            self._store.upload(path, Path(file.name))

    def finish(self, note: bytes) -> None:
        """Put the note, and take the mark away."""
        self._store.put(DONE, note)
        self._store.delete(_UNFINISHED)

    def abandon(self) -> None:
        """Delete what is there as far as the store lets us; the mark goes last."""
        with suppress(OmniError):
            for info in self._store.list():
                if info.path != _UNFINISHED:
                    self._store.delete(info.path)
            self._store.delete(_UNFINISHED)


def _taken_error(address: str) -> AlreadyExists:
    return AlreadyExists(f"{address} exists and is not empty: choose another folder", path=address)


@contextmanager
def _translate(address: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{address} cannot be written: {error}", path=address) from error
