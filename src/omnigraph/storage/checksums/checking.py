"""Comparing the files of a table version with their sums before Lance is given any of them.

Lance believes its files: a flipped byte can give it other rows, or make it ask for so much memory that the
process ends. Whatever is read in full is compared in full up to a budget (`verify_bytes`); what is larger is
compared by size, and byte by byte when `repair --scrub` asks for it. No file is compared twice by a process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from omnigraph.base import telemetry
from omnigraph.base.errors import CorruptState, HistoricalVersionReclaimed, NotFound
from omnigraph.base.lru import Lru
from omnigraph.base.settings import Settings
from omnigraph.storage.checksums.sums import Sums, compute, read_sums, stored, sums_path
from omnigraph.storage.format.digests import FileSum, digest_of, known
from omnigraph.storage.format.table_folder import TableFolder
from omnigraph.storage.format.version_files import DELETIONS, INDEXES, TRANSACTIONS, VersionFiles
from omnigraph.storage.namespace import Pin

_log = logging.getLogger("omnigraph")
_CACHED_VERSIONS = 4_096
_SCRUB = "run `omnigraph repair --scrub` to see all that is affected, and restore it from a backup"


MISSING = "it is missing"


@dataclass(frozen=True, slots=True)
class CheckedVersion:
    """What comparing a version came to, when nothing is wrong that a reader cannot do without."""

    damaged_indexes: frozenset[str] = frozenset()
    """Files of indexes that are missing or not as they were written."""


compared: Lru[str, CheckedVersion] = Lru(_CACHED_VERSIONS)
"""What comparing versions came to, by their addresses, for all tables of this process."""


_told: set[str] = set()
"""The damaged files that the log has named."""


def forget() -> None:
    """Compare everything again that is opened from now on."""
    compared.clear()
    stored.clear()
    known.clear()


def compare_version(folder: TableFolder, pin: Pin, files: Callable[[], VersionFiles]) -> CheckedVersion:
    """Compare the files of a version with their sums; `files` tells which there are when the sums are lost.

    Raises CorruptState for a damaged file and HistoricalVersionReclaimed for a missing one. An index is
    derived from the rows, so a damaged one is reported instead: the version can be read without it.
    """
    address = folder.address(pin.path)
    done = compared.get(address)
    if done is None:
        sums = stored.get(address) or read_sums(folder, pin) or _prove(folder, pin, files)
        stored.put(address, sums)
        done = _compare(folder, sums)
        compared.put(address, done)
    return done


def _compare(folder: TableFolder, sums: Sums) -> CheckedVersion:
    damaged: set[str] = set()
    for path, item, whole in _to_compare(folder, sums):
        problem = problem_of(folder, path, item, whole)
        if problem is None:
            continue
        if not path.startswith(INDEXES):
            raise _error(folder, path, problem)
        damaged.add(path)
    new = sorted(folder.address(path) for path in damaged if folder.address(path) not in _told)
    if new:
        _told.update(new)
        _log.warning("an index is damaged and is left aside; `optimize` builds it again: %s", ", ".join(new))
    return CheckedVersion(frozenset(damaged))


def _to_compare(folder: TableFolder, sums: Sums) -> Iterator[tuple[str, FileSum, bool]]:
    """Yield the files that this process has not compared, and whether each is to be read to its end."""
    new = [
        (path, item)
        for path, item in sums.files.items()
        # No reader asks for a transaction that is done.
        if not path.startswith(TRANSACTIONS) and known.get(folder.address(path)) != item
    ]
    if not new:
        return
    left = Settings.from_environment().verify_bytes
    # Deletion files come first and count for nothing: Lance does not survive some that are damaged.
    for path, item in sorted(new, key=lambda one: (not one[0].startswith(DELETIONS), one[1].size, one[0])):
        if path.startswith(DELETIONS):
            yield path, item, True
        else:
            left -= item.size
            yield path, item, left >= 0


def problem_of(
    folder: TableFolder, path: str, item: FileSum, whole: bool = True, fresh: bool = False
) -> str | None:
    """Return what is wrong with a file, or None; `missing` when there is none."""
    try:
        size = folder.size_of(path)
        if size != item.size:
            return f"it has {size} bytes, not {item.size}"
        if not whole:
            return None
        telemetry.count("sums.compared")
        found = folder.sum_of(path, fresh)
    except NotFound:
        return MISSING
    if found == item:
        return None
    known.pop(folder.address(path))  # it may be put right while this process runs
    return "its bytes are not those that were written"


def _error(folder: TableFolder, path: str, problem: str) -> CorruptState | HistoricalVersionReclaimed:
    where = folder.inside(path)
    if problem is MISSING:
        return HistoricalVersionReclaimed(
            f"the file {where} of this table version is gone: a cleanup has removed it, or someone has from "
            "outside (it was someone if this is the newest commit: run `omnigraph repair`)",
            path=where,
        )
    return CorruptState(f"the file {where} is damaged: {problem}; {_SCRUB}", path=where)


def _prove(folder: TableFolder, pin: Pin, files: Callable[[], VersionFiles]) -> Sums:
    """Make lost sums again: they have the digest that the commit has of them when all files are sound."""
    where = folder.inside(sums_path(pin))
    try:
        sums = compute(folder, files(), Sums())
    except NotFound as error:
        raise HistoricalVersionReclaimed(
            f"a file of this table version is gone, and its sums {where} as well: {error.message}", path=where
        ) from error
    if digest_of(sums.encode()) != pin.sums:
        raise CorruptState(
            f"the sums {where} are lost or damaged, and the files that they are of are not as they were "
            f"written either; {_SCRUB}",
            path=where,
        )
    _log.warning("%s is lost or damaged; all files of the version were read and are sound", where)
    return sums
