"""Marking: every file that commits and pending plans need, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from omnigraph.base.errors import CorruptState, NotFound
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.recovery.plans import DurablePlan
from omnigraph.graph.table_files import table_files
from omnigraph.storage.namespace import Pin, PinnedTable
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.reachable import TableFiles
from omnigraph.storage.sweeping import each

_TABLE = "table"


@dataclass
class Marks:
    """Paths that are kept, by the table's folder; what was marked once is not opened again."""

    store: ObjectStore
    kept: dict[str, set[str]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """The newest known key of each table's folder."""
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def add_plan(self, durable: DurablePlan, base: CommitRecord | None) -> None:
        """Mark what a plan will publish, and what it was staged on."""
        plan = durable.plan
        self.add((item.key, PinnedTable(item.location, item.pin)) for item in plan.writes.values())
        for identity, item in plan.reads.items():
            entry = base.tables.get(identity) if base else None
            if entry is not None:
                self.add([(item.key, PinnedTable(entry.location, Pin(item.version, item.path)))])

    def add(self, tables: Iterable[tuple[str, PinnedTable]]) -> None:
        """Mark table versions."""
        new: list[tuple[str, PinnedTable]] = []
        for key, table in tables:
            assert table.pin is not None
            self.keys[table.location] = key
            place = (table.location, table.pin.path)
            if place not in self._seen:
                self._seen.add(place)
                new.append((key, table))
        found = each(self.store, lambda item: self._files(*item), new)
        for (_, table), files in zip(new, found, strict=True):
            self.kept.setdefault(table.location, set()).update(files.paths())

    def published(self, records: Iterable[CommitRecord], only: Callable[[str], bool]) -> dict[str, set[str]]:
        """Return the files of commits that are not kept, as far as their tables can still be opened."""
        found: dict[str, set[str]] = {}
        versions: dict[tuple[str, str], tuple[str, PinnedTable]] = {}
        for record in records:
            for entry in record.tables.values():
                place = (entry.location, entry.pin.path)
                self.keys.setdefault(entry.location, entry.key)
                if place not in self._seen and only(entry.location):
                    versions[place] = (entry.key, entry.pinned)

        def look(item: tuple[str, PinnedTable]) -> tuple[str, list[str]]:
            key, table = item
            try:
                return table.location, list(table_files(self.store, key, table).paths())
            except NotFound:
                return table.location, []  # an earlier sweep got this far

        for location, paths in each(self.store, look, versions.values()):
            found.setdefault(location, set()).update(paths)
        return found

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
