"""Which files table versions have, as earlier cleanups found out: one object that may be lost at any time.

A pin never changes, so what was once read of it stays true. The object carries a checksum; one that is
missing, damaged or of another release counts for nothing, and the next cleanup writes it again. Successive
versions of a table share most of their files, so each is stored as its difference from the one before it.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from omnigraph.base.errors import NotFound, OmniError
from omnigraph.graph.manifest import layout
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.versions.reachable import TableFiles

PLACE = layout.KNOWN_VERSIONS
_KIND = b"omnigraph known versions 1\n"
"""It rises when `storage.reachable.files_of` tells of more: a release must not trust what knew less."""
_DIGEST_BYTES = 16
_log = logging.getLogger("omnigraph")


@dataclass(frozen=True, slots=True)
class _File:
    """A file or folder below a table's folder."""

    path: str
    size: int | None
    is_needed: bool
    """Whether it must be there, or only belongs to the version where it exists."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A version of a table, against the one before it in the list: numbers of files."""

    rows: int
    fragments: int
    added: tuple[int, ...]
    removed: tuple[int, ...]


@dataclass
class _Table:
    """The known versions of one table, by the path of their pin, in the order in which they became known."""

    files: list[_File] = field(default_factory=list)
    versions: dict[str, _Version] = field(default_factory=dict)
    _numbers: dict[_File, int] = field(default_factory=dict)
    _newest: set[int] | None = None

    def add(self, found: TableFiles) -> None:
        """Take one more version."""
        own = {self._number(_File(path, size, True)) for path, size in found.needed.items()}
        own |= {self._number(_File(path, None, False)) for path in found.perhaps}
        if self._newest is None:
            self._newest = set()
            for version in self.versions.values():
                self._newest = (self._newest | set(version.added)) - set(version.removed)
        added, removed = tuple(sorted(own - self._newest)), tuple(sorted(self._newest - own))
        self.versions[found.pin] = _Version(found.rows, found.fragments, added, removed)
        self._newest = own

    def union(self, pins: Collection[str]) -> Iterator[_File]:
        """Yield the files that any of these versions has; the cost is that of the differences."""
        found: set[int] = set()
        waiting: set[int] = set()
        for pin, version in self.versions.items():
            waiting.update(version.added)
            waiting.difference_update(version.removed)
            if pin in pins:
                found |= waiting
                waiting.clear()
        return (self.files[number] for number in found)

    def without(self, bad: Collection[str]) -> Iterator[str]:
        """Yield the pins of versions that need none of these files."""
        numbers = {number for number, item in enumerate(self.files) if item.is_needed and item.path in bad}
        met: set[int] = set()
        for pin, version in self.versions.items():
            met |= numbers.intersection(version.added)
            met.difference_update(version.removed)
            if not met:
                yield pin

    def keep_only(self, pins: Collection[str]) -> _Table:
        """Return the same without other versions, and without files that only they have."""
        left = _Table()
        added: set[int] = set()
        removed: set[int] = set()
        for pin, version in self.versions.items():
            for number in version.added:
                if number in removed:
                    removed.discard(number)
                else:
                    added.add(number)
            for number in version.removed:
                if number in added:
                    added.discard(number)
                else:
                    removed.add(number)
            if pin in pins:
                left.versions[pin] = _Version(
                    version.rows,
                    version.fragments,
                    tuple(sorted(left._number(self.files[number]) for number in added)),
                    tuple(sorted(left._number(self.files[number]) for number in removed)),
                )
                added, removed = set(), set()
        return left

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain JSON data."""
        return {
            "files": [[item.path, item.size, int(item.is_needed)] for item in self.files],
            "versions": [
                [pin, item.rows, item.fragments, item.added, item.removed]
                for pin, item in self.versions.items()
            ],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> _Table:
        """Build a table from JSON data."""
        table = _Table()
        for path, size, is_needed in data["files"]:
            table._number(_File(path, size, bool(is_needed)))
        for pin, rows, fragments, added, removed in data["versions"]:
            table.versions[pin] = _Version(rows, fragments, tuple(added), tuple(removed))
        return table

    def _number(self, item: _File) -> int:
        number = self._numbers.setdefault(item, len(self.files))
        if number == len(self.files):
            self.files.append(item)
        return number


class KnownVersions:
    """What is known of table versions without opening them. Not safe to change from several threads."""

    def __init__(self, tables: dict[str, _Table] | None = None) -> None:
        self._tables = tables or {}
        self._is_new = False

    @staticmethod
    def load(store: ObjectStore) -> KnownVersions:
        """Return what the last cleanup has left, or nothing."""
        try:
            return KnownVersions(_decode(store.get(PLACE)))
        except NotFound:
            return KnownVersions()
        except OmniError as error:
            _log.warning("what is known of table versions cannot be read: %s", error)
            return KnownVersions()

    def has(self, location: str, pin: str) -> bool:
        """Return whether a version of the table in this folder is known."""
        table = self._tables.get(location)
        return table is not None and pin in table.versions

    def counts(self, location: str, pin: str) -> tuple[int, int]:
        """Return the rows and fragments of a version that is known."""
        version = self._tables[location].versions[pin]
        return version.rows, version.fragments

    def paths(self, location: str, pins: Collection[str]) -> set[str]:
        """Return all that known versions have, with their pins: what a cleanup must keep for them."""
        found = {item.path for item in self._tables[location].union(pins)} if pins else set()
        return found | set(pins)

    def find_files(self, location: str, pins: Collection[str]) -> dict[str, int | None]:
        """Return the files that must be there for known versions, with their sizes where they are known."""
        files = self._tables[location].union(pins) if pins else iter(())
        return {item.path: item.size for item in files if item.is_needed}

    def find_whole(
        self, location: str, pins: Collection[str], sizes: Mapping[str, int]
    ) -> tuple[set[str], dict[str, int | None]]:
        """Return those among some versions that are known and have all their files, and these files.

        `sizes` tells what lies in the table's folder. A version that is not whole must be opened to say why.
        """
        table = self._tables.get(location)
        known = {pin for pin in pins if table is not None and pin in table.versions and pin in sizes}
        if table is None or not known:
            return set(), {}
        files = self.find_files(location, known)
        bad = {path for path, size in files.items() if path not in sizes or (size and sizes[path] != size)}
        if bad:
            known.intersection_update(table.without(bad))
            files = self.find_files(location, known)
        return known, files

    def add(self, location: str, found: TableFiles) -> None:
        """Take what was read of a version."""
        if not self.has(location, found.pin):
            self._tables.setdefault(location, _Table()).add(found)
            self._is_new = True

    def forget(self, pins: Mapping[str, Collection[str]], locations: Iterable[str] | None = None) -> None:
        """Forget versions that are not among these, of some tables or of all."""
        for location in list(self._tables if locations is None else locations):
            table = self._tables.get(location)
            left = pins.get(location, ())
            if table is None or all(pin in left for pin in table.versions):
                continue
            self._is_new = True
            self._tables[location] = table.keep_only(left)
            if not self._tables[location].versions:
                del self._tables[location]

    def save(self, store: ObjectStore) -> None:
        """Store it when something was added or forgotten; nothing fails when this does."""
        if not self._is_new:
            return
        try:
            store.put(PLACE, _encode(self._tables))
        except (OmniError, OSError) as error:
            _log.warning("what is known of table versions cannot be stored: %s", error)
        else:
            self._is_new = False


def _encode(tables: Mapping[str, _Table]) -> bytes:
    content = {location: table.to_json() for location, table in sorted(tables.items())}
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode())
    return _KIND + blake2b(packed, digest_size=_DIGEST_BYTES).digest() + packed


def _decode(data: bytes) -> dict[str, _Table]:
    """Build what was stored; nothing of it is taken when anything is wrong."""
    digest, packed = data[len(_KIND) : len(_KIND) + _DIGEST_BYTES], data[len(_KIND) + _DIGEST_BYTES :]
    if not data.startswith(_KIND) or blake2b(packed, digest_size=_DIGEST_BYTES).digest() != digest:
        _log.warning("%s is damaged or of another release: it is made again", PLACE)
        return {}
    content = json.loads(zlib.decompress(packed))
    return {location: _Table.from_json(table) for location, table in content.items()}
