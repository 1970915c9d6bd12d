"""Verifying tables: every pinned version opens, is as large as its commit says, and has all its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from omnigraph.base.errors import NotFound, OmniError
from omnigraph.graph.maintenance.cleanup.known_versions import KnownVersions
from omnigraph.graph.maintenance.cleanup.orphan_table_files import Size, list_folders
from omnigraph.graph.maintenance.verify.repair_report import LEFTOVER, Findings
from omnigraph.graph.maintenance.verify.scrub import LostSums, Progress, SumsComparison, prove_sums
from omnigraph.graph.maintenance.verify.verify_history import History
from omnigraph.graph.manifest.record import CommitRecord, TableEntry
from omnigraph.graph.publish.table_files import open_pinned, table_files
from omnigraph.graph.roots import links_in
from omnigraph.storage.checksums.sums import read_sums, sums_path
from omnigraph.storage.format.digests import digest_of
from omnigraph.storage.namespace import Pin
from omnigraph.storage.objects import ObjectInfo, ObjectStore
from omnigraph.storage.versions.reachable import DELETIONS, TableFiles, is_among, unreadable_deletions

_RESTORE = "restore it from a backup; until then `cleanup` refuses to run, and other tables can be read"
_UNUSED = "they are of writes in progress or cut off, or of dropped commits: `cleanup` removes them"
_LOST = "do not clean up before the damage is fixed: they may belong to what is lost or cannot be read"


def verify_tables(
    store: ObjectStore,
    history: History,
    findings: Findings,
    scrub: bool = False,
    progress: Progress | None = None,
) -> list[LostSums]:
    """Open every version that a commit names, and look at its files; with `scrub` at every byte of them.

    Return the sums that were lost and that the files have proved.
    """
    comparison = SumsComparison(scrub, progress)
    lost: list[LostSums] = []
    foreign: list[ObjectInfo] = []
    folders = list_folders(store, foreign)
    for link in links_in(store):
        findings.add(
            "link",
            link,
            "a symbolic link lies among the files of the graph",
            "put the file itself there, or take the link away: until then `cleanup` refuses to run",
            LEFTOVER,
        )
    present = {info.path: info for files in folders.values() for info in files}
    kept: dict[str, set[str]] = {}
    seen: dict[tuple[str, str], TableFiles | None] = {}
    checked: set[str] = set()
    if not scrub:
        seen |= _find_known(store, history, folders, kept, findings)
    for record in sorted(history.records.values(), key=lambda item: (item.incarnation, -item.seq)):
        for entry in _entries(record, history):
            place = (entry.location, entry.pin.path)
            if place not in seen:
                seen[place] = found = _verify(store, record, entry, findings)
                if found is not None:
                    kept.setdefault(entry.location, set()).update(found.paths())
                    if entry.pin.sums:
                        lost += _take_sums(store, record, entry, comparison, findings)
                    else:
                        _verify_sizes(record, entry, found, present, findings)
                        _verify_deletions(store, record, entry, found, present, checked, findings)
            _compare_counts(record, entry, seen[place], findings)
    comparison.run(findings)
    _tell_leftovers(folders, kept, findings)
    _tell_foreign(folders, foreign, findings)
    return lost


def _find_known(
    store: ObjectStore,
    history: History,
    folders: dict[str, list[ObjectInfo]],
    kept: dict[str, set[str]],
    findings: Findings,
) -> dict[tuple[str, str], TableFiles | None]:
    """Return the versions that need not be opened, since a cleanup has done so.

    Their manifests and sums are as their commits say, and all their files are there.
    """
    known = KnownVersions.load(store)
    pins: dict[str, dict[str, Pin]] = {}
    for record in history.records.values():
        for entry in _entries(record, history):
            pins.setdefault(entry.location, {})[entry.pin.path] = entry.pin
    found: dict[tuple[str, str], TableFiles | None] = {}
    for location, wanted in pins.items():
        sizes = {info.path.removeprefix(f"{location}/"): info.size for info in folders.get(location, ())}
        candidates = [
            wanted[path] for path in known.find_whole(location, wanted, sizes)[0] if wanted[path].digest
        ]
        whole = _sound(store, location, candidates)
        if whole:
            kept.setdefault(location, set()).update(known.paths(location, whole))
            findings.files += len(known.find_files(location, whole))
            findings.tables += len(whole)
        for path in whole:
            found[location, path] = TableFiles(path, *known.counts(location, path))
    return found


def _sound(store: ObjectStore, location: str, pins: list[Pin]) -> set[str]:
    """Return those of the pins, by path, whose manifest and sums have the digests that they name."""
    wanted = [(pin.path, pin.path, pin.digest) for pin in pins]
    wanted += [(pin.path, sums_path(pin), pin.sums) for pin in pins if pin.sums]
    data = store.get_many([f"{location}/{path}" for _, path, _ in wanted])
    damaged = {
        pin
        for (pin, _, digest), got in zip(wanted, data, strict=True)
        if got is None or digest_of(got) != digest
    }
    return {pin.path for pin in pins} - damaged


def _take_sums(
    store: ObjectStore,
    record: CommitRecord,
    entry: TableEntry,
    comparison: SumsComparison,
    findings: Findings,
) -> list[LostSums]:
    """Have the files of a version compared with their sums; return those that were lost and are proved."""
    folder = open_pinned(store, entry.key, entry.pinned).folder(entry.key)
    sums = read_sums(folder, entry.pin)
    if sums is not None:
        comparison.add(folder, sums, _name(record, entry))
        return []
    proved = prove_sums(store, entry.key, entry.pinned, _name(record, entry), findings)
    return [] if proved is None else [proved]


def _entries(record: CommitRecord, history: History) -> Iterable[TableEntry]:
    """Return the tables that a commit still has: what was dropped for good after it counts for nothing.

    Heads, tags and forks have all their tables: a drop spares what they name, and no name is given to a
    commit that has lost one.
    """
    dropped = history.dropped.get(record.incarnation, {})
    if not dropped or history.is_head(record) or (record.incarnation, record.seq) in history.named:
        return record.tables.values()
    return [entry for identity, entry in record.tables.items() if record.seq >= dropped.get(identity, 0)]


def _verify(
    store: ObjectStore, record: CommitRecord, entry: TableEntry, findings: Findings
) -> TableFiles | None:
    where = f"{entry.location}/{entry.pin.path}"
    named = _name(record, entry)
    try:
        files = table_files(store, entry.key, entry.pinned)
    except NotFound:
        findings.add("table_missing", where, f"the manifest of {named} is missing", _RESTORE)
        return None
    except OmniError as error:
        code = "manifest_damaged" if error.details.get("damaged") == "manifest" else "table_unreadable"
        findings.add(code, where, f"{named} cannot be opened: {error.message}", _RESTORE)
        return None
    findings.tables += 1
    return files


def _verify_sizes(
    record: CommitRecord,
    entry: TableEntry,
    files: TableFiles,
    present: dict[str, ObjectInfo],
    findings: Findings,
) -> None:
    """Look for the files of a version that has no sums, and at the sizes that its manifest tells."""
    named = _name(record, entry)
    for path, size in files.needed.items():
        info = present.get(f"{entry.location}/{path}")
        findings.files += 1
        if info is None:
            findings.add(
                "file_missing", f"{entry.location}/{path}", f"a file of {named} is missing", _RESTORE
            )
        elif size and info.size != size:
            findings.add(
                "file_damaged",
                info.path,
                f"a data file of {named} has {info.size} bytes, not {size}",
                _RESTORE,
            )


def _verify_deletions(
    store: ObjectStore,
    record: CommitRecord,
    entry: TableEntry,
    files: TableFiles,
    present: dict[str, ObjectInfo],
    checked: set[str],
    findings: Findings,
) -> None:
    """Read the deletion files, whose size no manifest tells; one that several versions share is read once."""
    new = {path for path in files.needed if path.startswith(DELETIONS)}
    new = {path for path in new if (whole := f"{entry.location}/{path}") in present and whole not in checked}
    if not new:
        return
    checked.update(f"{entry.location}/{path}" for path in new)
    namespace = open_pinned(store, entry.key, entry.pinned)
    for path, problem in unreadable_deletions(namespace, entry.key, new):
        findings.add(
            "file_damaged",
            f"{entry.location}/{path}",
            f"which rows of {_name(record, entry)} are deleted cannot be told: {problem}",
            _RESTORE,
        )


def _compare_counts(
    record: CommitRecord, entry: TableEntry, files: TableFiles | None, findings: Findings
) -> None:
    """Every commit tells the size of its tables, also of those that it did not change."""
    if files is None or (files.rows, files.fragments) == (entry.rows, entry.fragments):
        return
    findings.add(
        "count_differs",
        f"{entry.location}/{entry.pin.path}",
        f"{_name(record, entry)} has {files.rows} rows in {files.fragments} fragments, "
        f"its commit says {entry.rows} in {entry.fragments}",
        "the table or the record was changed from outside: restore both from one backup",
    )


def _name(record: CommitRecord, entry: TableEntry) -> str:
    return f"{entry.key} at version {record.seq} of branch {record.branch!r}"


def _tell_leftovers(
    folders: dict[str, list[ObjectInfo]], kept: dict[str, set[str]], findings: Findings
) -> None:
    for location, files in sorted(folders.items()):
        needed = kept.get(location, set())
        unused = [info for info in files if not is_among(info.path.removeprefix(f"{location}/"), needed)]
        size = Size.of([info for info in unused if not info.path.endswith("latest_version_hint.json")])
        if size.files:
            findings.add(
                "files_unused",
                location,
                f"{size.files} files ({size.bytes} bytes) belong to no commit of a live branch or tag",
                _UNUSED if findings.is_sound else _LOST,
                LEFTOVER,
            )


def _tell_foreign(
    folders: Mapping[str, list[ObjectInfo]], foreign: Iterable[ObjectInfo], findings: Findings
) -> None:
    """Tell what is not of a table, once for everything that lies in one foreign folder."""
    places: Counter[str] = Counter()
    for info in foreign:
        parts = info.path.split("/")
        places["/".join(parts[: 3 if "/".join(parts[:2]) in folders else 2])] += 1
    for place, files in sorted(places.items()):
        findings.add_foreign(place, files)
