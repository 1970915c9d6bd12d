"""Objects as files of a local disk.

This store speaks to the operating system directly, because obstore's local store has no if-match, cannot
flush a file before it becomes visible, and hides error numbers in text.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from omnigraph.base.errors import AlreadyExists, NotFound, PreconditionFailed, Unavailable
from omnigraph.base.telemetry import count
from omnigraph.storage.objects.errors import translate
from omnigraph.storage.objects.flushing import Flusher
from omnigraph.storage.objects.paths import RESERVED, check_path, check_prefix
from omnigraph.storage.objects.read_file import read_file
from omnigraph.storage.objects.staging import Staging
from omnigraph.storage.objects.store import ObjectInfo, Versioned
from omnigraph.storage.objects.swaps import PATIENCE_SECONDS, Swaps

_MAX_LOST_SWAPS = 64
_JOTTED = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_TAKEN = "taken"


class LocalStore:
    """An `ObjectStore` on a folder.

    A write goes to a staging file under `.og/staging` and becomes visible by `link` (create) or `rename`
    (put, replace). What takes an object away or overwrites it claims that first (`swaps`), so that nothing
    comes between the comparison and the rename of `replace`; all who write an object must therefore open
    the same root. There is no lock: a killed or stopped process delays others once, by `patience` seconds at
    most, and leaves at most its staging file.
    """

    scheme = "file"
    is_local = True

    def __init__(self, root: str, *, fsync: bool = False, patience: float = PATIENCE_SECONDS) -> None:
        """Open a folder, which need not exist; with `fsync` an acknowledged write survives a power cut."""
        self._root = root
        self._fsync = fsync
        self._patience = patience
        own = f"{root}/{RESERVED}"
        self._staging = Staging(f"{own}/staging", fsync)
        self._swaps = Swaps(f"{own}/swaps", self._staging.folder, patience)
        self._flusher = Flusher(root, fsync)

    @property
    def root_uri(self) -> str:
        """The absolute folder; a bare path, because Lance decodes percent signs in a file URI."""
        return self._root

    @property
    def flushes(self) -> bool:
        """Whether files are flushed here before they count."""
        return self._fsync

    def lance_options(self) -> dict[str, str]:
        """Return no options; Lance needs none for a folder."""
        return {}

    def get(self, path: str) -> bytes:
        """Return the bytes of an object."""
        data = self._get_or_none(path)
        if data is None:
            raise self._missing_error(path)
        return data

    def get_versioned(self, path: str) -> Versioned:
        """Return the bytes of an object and the hash of its content."""
        data = self.get(path)
        return Versioned(data, _etag(data))

    def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of each object; one after the other, since a thread costs more than a read."""
        return [self._get_or_none(path) for path in paths]

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        check_path(path)
        count("objects.put")
        self._swap(path, data, None)

    def jot(self, path: str, data: bytes) -> None:
        """Write over a file where it is."""
        check_path(path)
        count("objects.put")
        with self._translate_errors(path):
            name = f"{self._root}/{path}"
            try:
                descriptor = os.open(name, _JOTTED, 0o666)
            except FileNotFoundError:
                self._flusher.make_folders(os.path.dirname(path))
                descriptor = os.open(name, _JOTTED, 0o666)
            try:
                os.write(descriptor, data)
                os.ftruncate(descriptor, len(data))
            finally:
                os.close(descriptor)

    def create(self, path: str, data: bytes) -> str:
        """Write an object that is not there."""
        check_path(path)
        count("objects.create")
        try:
            self._try(path, lambda: self._create(path, data))
        except AlreadyExists as error:
            if isinstance(error.__cause__, FileExistsError):
                count("objects.create_lost")
            raise
        return _etag(data)

    def replace(self, path: str, data: bytes, etag: str) -> str:
        """Write over the object that has this tag; who stops half-way is overtaken and changes nothing."""
        check_path(path)
        count("objects.replace")
        self._swap(path, data, etag)
        return _etag(data)

    def delete(self, path: str) -> None:
        """Remove an object if it is there."""
        check_path(path)
        count("objects.delete")
        self._try(path, lambda: self._delete(path))

    def discard(self, path: str) -> None:
        """Remove an object that nobody replaces, if it is there; it may come back after a power cut."""
        check_path(path)
        count("objects.delete")
        with self._translate_errors(path):
            if _is_file(f"{self._root}/{path}"):
                _unlink(f"{self._root}/{path}")

    def sync(self, paths: Iterable[str]) -> None:
        """Make files survive a power cut that something else has written, or removed, under this root."""
        wanted: list[str] = []
        with self._translate_errors(""):
            for path in paths if self._fsync else ():
                if path.endswith("/"):
                    wanted += (found for found, _ in self._walk(check_prefix(path)))
                else:
                    wanted.append(path)
            self._flusher.flush(wanted)

    def exists(self, path: str) -> bool:
        """Return whether there is an object at this path or any under it."""
        path = check_prefix(path)
        count("objects.head")
        try:
            if _is_file(f"{self._root}/{path}"):
                return True
            return next(self._walk(path), None) is not None
        except OSError as error:
            raise translate(error, self._root, path) from error

    def list(self, prefix: str = "", after: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects under a prefix."""
        prefix = check_prefix(prefix)
        count("objects.list")
        return self._listing(prefix, after)

    def move(self, source: str, target: str) -> None:
        """Rename an object; like what something else has written, it is durable once it is synced."""
        check_path(source)
        check_path(target)
        count("objects.move")
        with self._translate_errors(target):
            if not _is_file(f"{self._root}/{source}"):
                raise self._missing_error(source)
            self._flusher.make_folders(os.path.dirname(target))  # most are moved into one of their own
            if not self._publish(os.replace, f"{self._root}/{source}", target):
                raise self._missing_error(source)

    def reader(self, path: str, buffer: int) -> io.RawIOBase:
        """Open an object that may be large for reading from its beginning to its end."""
        check_path(path)
        count("objects.read")
        try:
            return open(f"{self._root}/{path}", "rb", buffering=0)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise self._missing_error(path) from None
        except OSError as error:
            raise translate(error, self._root, path) from error

    def upload(self, path: str, file: Path) -> None:
        """Write an object that may be large, from a file; the disk may share its blocks."""
        check_path(path)
        count("objects.put")
        self._try(path, lambda: self._upload(path, str(file)))

    def remove_residue(self, older_than: timedelta) -> int:
        """Remove the staging files of killed writers; a living one whose file goes writes it again."""
        with self._translate_errors(f"{RESERVED}/staging"):
            return self._staging.remove_residue(older_than)

    def __repr__(self) -> str:
        return f"LocalStore({self._root!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._root, self._fsync, self._patience)

    def _missing_error(self, path: str) -> NotFound:
        return NotFound(f"there is no object {path!r} under {self._root}", path=path, root=self._root)

    def _get_or_none(self, path: str) -> bytes | None:
        check_path(path)
        try:
            data = read_file(f"{self._root}/{path}")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            count("objects.get_missing")
            return None
        except OSError as error:
            raise translate(error, self._root, path) from error
        count("objects.get")
        return data

    def _etag_of(self, path: str) -> str | None:
        try:
            return _etag(read_file(f"{self._root}/{path}"))
        except FileNotFoundError:
            return None

    @contextmanager
    def _translate_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise translate(error, self._root, path, writing=True) from error

    def _try(self, path: str, act: Callable[[], bool]) -> None:
        """Act until it says that it is done: whoever was overtaken begins again."""
        with self._translate_errors(path):
            for _ in range(_MAX_LOST_SWAPS):
                if act():
                    return
        raise Unavailable(
            f"other processes overtook {_MAX_LOST_SWAPS} tries to write {path!r} in {self._root}: try again",
            path=path,
            root=self._root,
        )

    def _create(self, path: str, data: bytes) -> bool:
        staged = self._staging.file(data)
        try:
            if not self._publish(os.link, staged, path):
                return False
        finally:
            _unlink_quietly(staged)
        self._flusher.flush_names([path])
        return True

    def _upload(self, path: str, file: str) -> bool:
        staged = self._staging.copy(file)
        if not self._publish(os.replace, staged, path):
            return False
        self._flusher.flush_names([path])
        return True

    def _swap(self, path: str, data: bytes, etag: str | None) -> None:
        """Put an object in the place of any other, or of the one with this tag."""
        self._try(path, lambda: self._try_to_swap(path, data, etag))

    def _try_to_swap(self, path: str, data: bytes, etag: str | None) -> bool:
        staged = self._staging.file(data)
        try:
            if not self._swaps.claim(path, os.path.basename(staged)):
                _unlink_quietly(staged)
                return False
            if etag is not None and (actual := self._etag_of(path)) != etag:
                raise PreconditionFailed(
                    f"the object {path!r} under {self._root} has changed since it was read: read it again",
                    path=path,
                    root=self._root,
                    expected=etag,
                    actual=actual,
                )
            if not self._publish(os.replace, staged, path):
                return False
        except BaseException:
            _unlink_quietly(staged)
            raise
        self._flusher.flush_names([path])
        return True

    def _delete(self, path: str) -> bool:
        if not _is_file(f"{self._root}/{path}"):
            return True
        # The file is renamed into a folder that can be taken away; a plain unlink could not be prevented.
        grave = self._staging.make_folder()
        try:
            if not self._swaps.claim(path, os.path.basename(grave)):
                return False
            os.rename(f"{self._root}/{path}", f"{grave}/{_TAKEN}")
        except FileNotFoundError:
            return os.path.isdir(grave)  # then the object is what is gone
        finally:
            _unlink_quietly(f"{grave}/{_TAKEN}")
            _rmdir_quietly(grave)
        self._flusher.flush_names([path])
        return True

    def _publish(self, make_visible: Callable[[str, str], None], staged: str, path: str) -> bool:
        """Give a staged file its name; False when somebody has taken the staged file away."""
        target = f"{self._root}/{path}"
        try:
            make_visible(staged, target)
        except FileNotFoundError:
            if not os.path.lexists(staged):
                return False
            self._flusher.make_folders(os.path.dirname(path))
            try:
                make_visible(staged, target)
            except FileNotFoundError:
                if os.path.lexists(staged):
                    raise
                return False
        return True

    def _listing(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        try:
            for path, found in self._walk(prefix, after):
                # A staged file may have been written long before it became visible under its name.
                visible = max(found.st_mtime, found.st_ctime)
                yield ObjectInfo(path, found.st_size, datetime.fromtimestamp(visible, UTC))
        except OSError as error:
            raise translate(error, self._root, prefix) from error

    def _walk(self, folder: str, after: str = "") -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files under a folder that come after a path, in the order of paths.

        What vanishes meanwhile is passed over, and so are symbolic links, which lead out of this root.
        """
        try:
            with os.scandir(f"{self._root}/{folder}") as scan:
                entries = [
                    (entry, entry.is_dir(follow_symlinks=False)) for entry in scan if not entry.is_symlink()
                ]
        except (FileNotFoundError, NotADirectoryError):
            return
        # "a-b" stands before "a/b", as S3 lists them.
        for entry, is_folder in sorted(entries, key=lambda e: f"{e[0].name}/" if e[1] else e[0].name):
            if entry.name == RESERVED:
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            if is_folder and (f"{path}/" > after or after.startswith(f"{path}/")):
                yield from self._walk(path, after)
            if is_folder or path <= after:
                continue
            try:
                yield path, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def _reopen(root: str, fsync: bool, patience: float) -> LocalStore:
    return LocalStore(root, fsync=fsync, patience=patience)


def _etag(data: bytes) -> str:
    # The content itself: size and time of a file do not tell two quick rewrites apart.
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _is_file(name: str) -> bool:
    """Return whether a file has this name; what a symbolic link leads to is not of this root."""
    try:
        return stat.S_ISREG(os.lstat(name).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _unlink(name: str) -> None:
    try:
        os.unlink(name)
    except FileNotFoundError:
        return


def _unlink_quietly(name: str) -> None:
    try:
        os.unlink(name)
    except OSError:
        return


def _rmdir_quietly(name: str) -> None:
    try:
        os.rmdir(name)
    except OSError:
        return
