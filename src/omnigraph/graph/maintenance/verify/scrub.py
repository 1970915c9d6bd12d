"""Comparing the files of table versions with their sums: by size, or with `scrub` byte by byte."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from omnigraph.base.errors import OmniError
from omnigraph.graph.maintenance.verify.repair_report import LEFTOVER, Findings
from omnigraph.storage.checksums.checking import MISSING, problem_of
from omnigraph.storage.checksums.sums import Sums, sums_path
from omnigraph.storage.format.digests import FileSum, digest_of
from omnigraph.storage.format.table_folder import TableFolder
from omnigraph.storage.format.version_files import DELETIONS, INDEXES, TRANSACTIONS
from omnigraph.storage.namespace import PinnedTable, SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.opening import sums_of

Progress = Callable[[str, int, int], None]
"""Called with a file's path, how many files are compared, and how many there are."""

_PARALLEL_LOCAL, _PARALLEL_REMOTE = 4, 16
_RESTORE = "restore it from a backup; until then `cleanup` refuses to run, and other tables can be read"
_REBUILD = "rows are read without it; `optimize` builds it again, and a cleanup removes what is left of it"
_HARMLESS = "nothing reads it any more: it goes with the commit that it belongs to"


@dataclass(frozen=True, slots=True)
class _Named:
    folder: TableFolder
    path: str
    item: FileSum
    version: str


@dataclass
class SumsComparison:
    """Files that versions have sums of, each once, however many versions share it."""

    scrub: bool
    progress: Progress | None = None
    _files: dict[str, _Named] = field(default_factory=dict)

    def add(self, folder: TableFolder, sums: Sums, version: str) -> None:
        """Take the files of a version, which is told by its table and commit."""
        for path, item in sums.files.items():
            self._files.setdefault(folder.address(path), _Named(folder, path, item, version))

    def run(self, findings: Findings) -> None:
        """Compare all of them and name those that are missing or not as they were written."""
        named = sorted(self._files.values(), key=lambda one: one.folder.inside(one.path))
        local = all(one.folder.is_local for one in named)
        with ThreadPoolExecutor(_PARALLEL_LOCAL if local else _PARALLEL_REMOTE) as threads:
            for done, (one, problem) in enumerate(
                zip(named, threads.map(self._problem, named), strict=True), start=1
            ):
                if problem is not None:
                    _tell(one, problem, findings)
                if self.progress is not None:
                    self.progress(one.folder.inside(one.path), done, len(named))
        findings.files += len(named)

    def _problem(self, one: _Named) -> str | None:
        # Lance does not survive some deletion files that are damaged, so they are read in any case.
        whole = self.scrub or one.path.startswith(DELETIONS)
        try:
            return problem_of(one.folder, one.path, one.item, whole, fresh=True)
        except OmniError as error:
            return f"it cannot be read: {error.message}"


def _tell(one: _Named, problem: str, findings: Findings) -> None:
    where, what = one.folder.inside(one.path), f"a file of {one.version}: {problem}"
    if one.path.startswith(TRANSACTIONS):
        findings.add("transaction_damaged", where, what, _HARMLESS, LEFTOVER)
    elif one.path.startswith(INDEXES):
        findings.add("index_damaged", where, what, _REBUILD)
    elif problem is MISSING:
        findings.add("file_missing", where, f"a file of {one.version} is missing", _RESTORE)
    elif one.path.startswith(DELETIONS):
        findings.add("deletions_damaged", where, what, _RESTORE)
    else:
        findings.add("file_damaged", where, what, _RESTORE)


@dataclass(frozen=True, slots=True)
class LostSums:
    """Sums that are not stored any more, and that the files of their version prove."""

    where: str
    data: bytes


def prove_sums(
    store: ObjectStore, key: str, pinned: PinnedTable, version: str, findings: Findings
) -> LostSums | None:
    """Name the lost sums of a version, and make them again if its files are all as they were written."""
    namespace = SnapshotNamespace(store.root_uri, store.lance_options(), {key: pinned})
    assert pinned.pin is not None
    folder = namespace.folder(key)
    where = folder.inside(sums_path(pinned.pin))
    try:
        sums = sums_of(namespace, key)
    except OmniError as error:
        lost, advice = f"and its files cannot all be read: {error.message}", _RESTORE
    else:
        data = sums.encode()
        if digest_of(data) == pinned.pin.sums:
            what = f"the sums of {version} are lost or damaged; all its files were read and are sound"
            findings.add("sums_damaged", where, what, "`repair` with confirm writes them again")
            return LostSums(where, data)
        lost, advice = "and its files are not all as they were written", _RESTORE
    findings.add("sums_damaged", where, f"the sums of {version} are lost or damaged, {lost}", advice)
    return None
