"""The state that one attempt to write stands on: tables opened at a commit's pins, and what was staged."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from omnigraph.base.errors import NotFound
from omnigraph.graph.manifest.record import CommitRef, Protection, TableEntry
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.publish.plan import ExpectedTable, WrittenTable
from omnigraph.storage.namespace import Pin, SnapshotNamespace, WriteAttempt
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.staging import StagedFragments, StagedTable, create_table
from omnigraph.storage.tables.unpublished_rows import UnpublishedRows
from omnigraph.storage.versions.durability import sync_staged


class WriteBase:
    """One branch state, its tables opened as they are needed, and the versions staged on top."""

    def __init__(self, store: ObjectStore, state: BranchState) -> None:
        self._store = store
        self._entries = _by_key(state)
        self._attempt = WriteAttempt(store, {key: item[1].pinned for key, item in self._entries.items()})
        self._tables: dict[str, StagedTable] = {}
        self._reads: set[str] = set()
        self._created: dict[str, tuple[str, str]] = {}
        self._renamed: dict[str, str] = {}
        self._dropped: list[str] = []
        self._adopted: dict[str, WrittenTable] = {}
        self._distinct: dict[str, Mapping[str, int]] = {}
        self.schema: str | None = None
        """The address of the schema that the commit brings, when it brings one."""
        self.reclaims: tuple[str, ...] = ()
        """The identities of tables of which older versions are not to be kept."""
        self.queries: str | None = None
        """The address of the stored queries that the commit brings, when it brings others; empty for none."""
        self.relies_on_queries = False
        """Whether stored queries tell if the commit may be published."""
        self.meets: Protection | None = None
        """The protection of the branch that the commit has satisfied."""
        self.merged_parent: CommitRef | None = None
        """The commit of another branch that this one takes in."""
        self.sources: tuple[CommitRef, ...] = ()
        """The commits whose tables are adopted: cleanup must not have dropped them before the publish."""
        self.state = state

    def table(self, key: str) -> StagedTable:
        """Return a table to read or write; it becomes part of what the commit relies on."""
        self.rely_on(key)
        if key not in self._tables:
            self._tables[key] = StagedTable(self._attempt, key)
        return self._tables[key]

    def rely_on(self, key: str) -> TableEntry:
        """Make a table part of what the commit relies on, without opening it."""
        if key not in self._entries:
            raise NotFound(f"the schema has no table {key!r}", table_key=key)
        self._reads.add(key)
        return self._entries[key][1]

    def view_pinned(self) -> SnapshotNamespace:
        """Return the tables as they are stored, for other processes to read and to write data files of."""
        pins = {key: entry.pinned for key, (_, entry) in self._entries.items()}
        return SnapshotNamespace(self._store.root_uri, self._store.lance_options(), pins)

    def view_staged(self) -> SnapshotNamespace:
        """Return the tables with what is staged for them, for other processes to read."""
        return SnapshotNamespace(
            self._store.root_uri, self._store.lance_options(), dict(self._attempt.newest())
        )

    @property
    def store(self) -> ObjectStore:
        """Where the graph lies."""
        return self._store

    def draft(self, key: str, staged: StagedFragments) -> UnpublishedRows:
        """Return rows that are staged for a table and belong to no version, for reading."""
        return UnpublishedRows(self._store, self.rely_on(key).pinned, staged)

    def release(self, key: str) -> None:
        """Stop relying on a table that was looked at and left as it is."""
        self._reads.discard(key)

    def move_to(self, state: BranchState) -> None:
        """Stand on another state of the branch; tables that are the same there stay open."""
        staged = self._attempt.staged_pins()
        before, self._entries = self._entries, _by_key(state)
        self._attempt.repin({key: item[1].pinned for key, item in self._entries.items()})
        self._tables = {
            key: table
            for key, table in self._tables.items()
            if key not in staged and key in self._entries and before[key][1].pin == self._entries[key][1].pin
        }
        self._reads.clear()
        self._created.clear()
        self._renamed.clear()
        self._dropped.clear()
        self._adopted.clear()
        self._distinct.clear()
        self.schema = None
        self.reclaims = ()
        self.queries = None
        self.relies_on_queries = False
        self.meets = None
        self.merged_parent = None
        self.sources = ()
        self.state = state

    def create(self, key: str, identity: str, location: str, schema: pa.Schema) -> None:
        """Stage a new, empty table."""
        self._attempt.declare(key, location)
        create_table(self._attempt, key, schema)
        self._created[key] = (identity, location)

    def rename(self, key: str, new: str) -> None:
        """Give a table another key; its identity, folder and rows stay."""
        self.rely_on(key)
        self._renamed[key] = new

    def adopt(self, identity: str, written: WrittenTable) -> None:
        """Take over a table version that lies in another history of the table, in place of the one here."""
        entry = self.state.head.tables.get(identity)
        if entry is not None:
            self.rely_on(entry.key)
        self._adopted[identity] = written

    def drop(self, key: str) -> None:
        """Leave a table out of the commit; commits before it still have it."""
        self.rely_on(key)
        self._dropped.append(self._entries[key][0])

    @property
    def drops(self) -> tuple[str, ...]:
        """The identities of the tables that the commit leaves out."""
        return tuple(self._dropped)

    def list_written(self) -> list[str]:
        """Return the keys of the stored tables that have a staged version."""
        return sorted(key for key in self._attempt.staged_pins() if key not in self._created)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has been staged on this state."""
        staged = self._attempt.staged_pins() or self._renamed or self._dropped or self._adopted
        return not (staged or self.schema or self.merged_parent or self.queries is not None)

    def note_distinct(self, key: str, counts: Mapping[str, int]) -> None:
        """Note how many values columns of a staged table are thought to have."""
        self._distinct[key] = counts

    def undo(self, key: str, savepoint: Mapping[int, Pin]) -> None:
        """Go back to a savepoint of a table."""
        self._attempt.rollback(key, savepoint)
        self._tables.pop(key, None)

    def savepoint(self, key: str) -> Mapping[int, Pin]:
        """Return what is staged for a table now."""
        return self._attempt.savepoint(key)

    def flush(self) -> None:
        """Make what is staged survive a power cut, before a plan or a record names it."""
        sync_staged(self._store, self._attempt)

    def reads(self) -> dict[str, ExpectedTable]:
        """Return what the commit relies on, by table identity."""
        return {
            identity: ExpectedTable.of(entry)
            for key in sorted(self._reads)
            for identity, entry in [self._entries[key]]
        }

    def writes(self) -> dict[str, WrittenTable]:
        """Return the staged versions, by table identity."""
        staged = self._attempt.staged_pins()
        written: dict[str, WrittenTable] = {}
        for key, pin in sorted(staged.items()):
            if key in self._created:
                identity, location = self._created[key]
                written[identity] = WrittenTable(key, location, pin, rows=0, fragments=0)
            else:
                identity, entry = self._entries[key]
                sealed = self.table(key).seal()
                size = self.table(key).state
                name = self._renamed.get(key, key)
                distinct = self._distinct.get(key, {})
                written[identity] = WrittenTable(
                    name, entry.location, sealed, size.rows, size.fragments, distinct=distinct
                )
        for key, new in sorted(self._renamed.items()):
            if key not in staged:
                identity, entry = self._entries[key]
                written[identity] = WrittenTable(new, entry.location, entry.pin, entry.rows, entry.fragments)
        return written | self._adopted


def _by_key(state: BranchState) -> dict[str, tuple[str, TableEntry]]:
    return {entry.key: (identity, entry) for identity, entry in state.head.tables.items()}
