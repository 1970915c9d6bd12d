"""Marking: every file that commits and pending plans need, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from omnigraph.base.errors import CorruptState, NotFound
from omnigraph.graph.maintenance.cleanup.known_versions import KnownVersions
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.publish.table_files import table_files
from omnigraph.graph.recovery.plans import DurablePlan
from omnigraph.storage.files.delete_files import each
from omnigraph.storage.namespace import PINS, PinnedTable
from omnigraph.storage.objects import ObjectInfo, ObjectStore
from omnigraph.storage.versions.reachable import TableFiles


@dataclass
class Marks:
    """Paths that are kept, by the table's folder; what was marked once, or is known, is not opened."""

    store: ObjectStore
    kept: dict[str, set[str]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """The newest known key of each table's folder."""
    _seen: dict[str, set[str]] = field(default_factory=dict)
    """By folder: the pins that are kept."""
    _published: dict[str, set[str]] = field(default_factory=dict)
    """By folder: the pins of commits that stay."""
    _pins: dict[str, set[str]] = field(default_factory=dict)

    _known: KnownVersions | None = None

    @property
    def known(self) -> KnownVersions:
        """What earlier cleanups have found out; read when it is asked for."""
        if self._known is None:
            self._known = KnownVersions.load(self.store)
        return self._known

    def add_plan(self, durable: DurablePlan, base: CommitRecord | None) -> None:
        """Mark what a plan will publish, and what it was staged on, if that is still there.

        What a plan names that cannot be opened any more was condemned before the plan was written: it will
        not be published.
        """
        plan = durable.plan
        written = [(item.key, PinnedTable(item.location, item.pin)) for item in plan.writes.values()]
        with suppress(CorruptState):
            self.add(written)
        for identity, item in plan.reads.items():
            entry = base.tables.get(identity) if base else None
            if entry is not None:
                self.add([(item.key, PinnedTable(entry.location, item.pin))])

    def add_record(self, tables: Iterable[tuple[str, PinnedTable]], is_published: bool) -> None:
        """Mark the tables of a commit, which all can be opened if it is published.

        Whoever gives a chain its name opens its tables afterwards, when a cleanup has come between: commits
        of a chain without a name that have lost one already will not be published.
        """
        try:
            self.add(tables)
        except CorruptState:
            if is_published:
                raise

    def add_published(self, tables: Sequence[tuple[str, PinnedTable]]) -> None:
        """Mark table versions of commits that stay: all their files must be there."""
        self.add(tables)
        for _, table in tables:
            assert table.pin is not None
            self._published.setdefault(table.location, set()).add(table.pin.path)

    def add(self, tables: Iterable[tuple[str, PinnedTable]]) -> None:
        """Mark table versions."""
        new: dict[tuple[str, str], tuple[str, PinnedTable]] = {}
        old: dict[str, set[str]] = {}
        for key, table in tables:
            assert table.pin is not None
            self.keys[table.location] = key
            if table.pin.path in self._seen.setdefault(table.location, set()):
                continue
            if self._is_known(table.location, table.pin.path):
                old.setdefault(table.location, set()).add(table.pin.path)
            else:
                new[table.location, table.pin.path] = (key, table)
        for location, pins in old.items():
            self.kept.setdefault(location, set()).update(self.known.paths(location, pins))
            self._seen[location] |= pins
        found = each(self.store, lambda item: self._files(*item), new.values())
        for (location, pin), files in zip(new, found, strict=True):
            self.kept.setdefault(location, set()).update(files.paths())
            self.known.add(location, files)
            self._seen[location].add(pin)

    def find_dropped_files(
        self, records: Iterable[CommitRecord], only: Callable[[str], bool]
    ) -> dict[str, set[str]]:
        """Return the files of commits that are not kept, as far as their tables can be told."""
        found: dict[str, set[str]] = {}
        new: dict[tuple[str, str], tuple[str, PinnedTable]] = {}
        old: dict[str, set[str]] = {}
        for record in records:
            for entry in record.tables.values():
                location, pin = entry.location, entry.pin.path
                self.keys.setdefault(location, entry.key)
                if pin in self._seen.get(location, ()) or not only(location):
                    continue
                if self.known.has(location, pin):
                    old.setdefault(location, set()).add(pin)
                else:
                    new[location, pin] = (entry.key, entry.pinned)

        def look(item: tuple[str, PinnedTable]) -> tuple[str, list[str]]:
            key, table = item
            try:
                return table.location, list(table_files(self.store, key, table).paths())
            except NotFound:
                return table.location, []  # an earlier sweep got this far

        for location, paths in each(self.store, look, new.values()):
            found.setdefault(location, set()).update(paths)
        for location, pins in old.items():
            found.setdefault(location, set()).update(self.known.paths(location, pins))
        return found

    def check_files(self, listed: Mapping[str, Sequence[ObjectInfo]]) -> None:
        """Refuse to go on when a file is missing or cut off that a published version needs which stays.

        What is about to be dropped may be the last whole version of such a table. (What a plan or a branch
        that is being made has may have lost files to a cleanup: it will not be published.)
        """
        for location, pins in self._published.items():
            sizes = {info.path.removeprefix(f"{location}/"): info.size for info in listed.get(location, ())}
            for path, size in self.known.find_files(location, pins).items():
                if path not in sizes or (size and sizes[path] != size):
                    what = f"has {sizes[path]} bytes, not {size}" if path in sizes else "is missing"
                    raise CorruptState(
                        f"nothing was removed: {location}/{path}, a file of {self.keys[location]}, {what}; "
                        "run `omnigraph repair` and restore the file from a backup",
                        path=f"{location}/{path}",
                    )

    def save(self, only: Callable[[str], bool] | None = None) -> None:
        """Leave what was found out to the next cleanup, without what no commit has any more.

        `only` tells the tables that this one has looked at, when they were not all.
        """
        known = self.known
        known.forget(self._seen, None if only is None else filter(only, self._seen))
        known.save(self.store)

    def _is_known(self, location: str, pin: str) -> bool:
        """Return whether a version need not be opened: it is known, and its pin is still there."""
        if not self.known.has(location, pin):
            return False
        if location not in self._pins:
            paths = (info.path for info in self.store.list(f"{location}/{PINS}"))
            self._pins[location] = {path.removeprefix(f"{location}/") for path in paths}
        return pin in self._pins[location]

    def _files(self, key: str, table: PinnedTable) -> TableFiles:
        try:
            return table_files(self.store, key, table)
        except NotFound as error:
            assert table.pin is not None
            raise CorruptState(
                f"version {table.pin.version} of {key} cannot be opened, so nothing was removed: "
                f"{error.message}; run `omnigraph repair`",
                path=f"{table.location}/{table.pin.path}",
            ) from error
