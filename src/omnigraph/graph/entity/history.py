"""Every commit that changed one node or edge, found from what the records and the rows tell.

A row says in which version of its table it was written last, so a walk back over commits that staged their
tables on each other's looks up nothing until it comes to the commit that wrote the row. Rows are compared by
value where a table was taken from elsewhere (a merge), and where a cleanup has dropped commits between.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from omnigraph.base.choices import ChangeOp
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.changes.descent import is_staged_on
from omnigraph.graph.changes.model import Json
from omnigraph.graph.entity.combined_pairs import find_kept, list_gone
from omnigraph.graph.entity.stored import EntityAddress, StoredEntity, find_entity
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.opening import Core


class TooFarBack(Exception):
    """A walk has looked into as many versions of a table as it may."""


@dataclass(frozen=True)
class EntityChange:
    """What one commit did to a node or edge, against its first parent."""

    commit: Commit
    op: ChangeOp
    changed: tuple[str, ...]
    """The names of what an update changed."""
    came_by_merge: bool
    """Whether the commit only brought over what another branch has: it was changed there."""
    before: Json | None
    """The properties, and the ends of an edge, before the commit; None where it was not there."""
    after: Json | None
    """The same after the commit."""
    went_into: str | None = None
    """The id of the node that it is a duplicate of, and went into."""
    took_in: tuple[str, ...] = ()
    """The ids of nodes that went into it."""

    def __repr__(self) -> str:
        what = f" {', '.join(self.changed)}" if self.changed else ""
        what += f" into {self.went_into!r}" if self.went_into is not None else ""
        return f"EntityChange({self.op}{what}; {self.commit!r})"


@dataclass(frozen=True)
class EntityStep:
    """A commit that changed an entity, and the entity on all its sides."""

    record: CommitRecord
    older: StoredEntity | None
    newer: StoredEntity | None
    merged: StoredEntity | None = None
    """The same on the branch that the commit merged."""
    went_into: str | None = None
    """What it went into, where the commit says that it was a duplicate."""
    took_in: tuple[str, ...] = ()
    merged_record: CommitRecord | None = None
    """The commit of the branch that the commit merged, if it is seen."""

    @cached_property
    def came_by_merge(self) -> bool:
        """Whether the commit only brought over what the merged branch has."""
        if self.newer is None:
            return self.merged_record is not None and self.merged is None
        return self.merged is not None and not self.newer.list_changed(self.merged)

    def describe(self) -> EntityChange:
        """Return the step as users see it."""
        older, newer = self.older, self.newer
        changed = () if older is None or newer is None else tuple(newer.list_changed(older))
        return EntityChange(
            Commit.of(self.record),
            "delete" if newer is None else "insert" if older is None else "update",
            changed,
            self.came_by_merge,
            None if older is None else older.image,
            None if newer is None else newer.image,
            self.went_into,
            self.took_in,
        )


def list_steps(
    core: Core,
    tip: CommitRecord,
    key: EntityAddress,
    earlier: bool = False,
    access: ActorAccess | None = None,
    most_versions: int | None = None,
) -> Iterator[EntityStep]:
    """Yield the commits that changed an entity, newest first, over both parents of merges, each once.

    The walk ends where the entity was inserted. With `earlier`, or when it is not there, it goes on to
    what had the same id before, which takes a look at every older version of the table. With `access` what
    a merge brought from a branch that may not be seen is the change of the merge. Who gives `most_versions`
    gets `TooFarBack` where a walk would look into more versions of the table.
    """
    walk = _Walk(core, key, access, most_versions)
    waiting: list[tuple[tuple[int, int, str], EntityStep]] = []
    seen: set[str] = set()

    def push(change: EntityStep | None) -> None:
        if change is not None and change.record.commit not in seen:
            seen.add(change.record.commit)
            heapq.heappush(waiting, (_newest_first(change.record), change))

    entity = walk.find(tip)
    push(walk.origin(entity) if entity is not None else walk.deletion(tip))
    while waiting:
        _, change = heapq.heappop(waiting)
        yield change
        if change.merged is not None:
            push(walk.origin(change.merged))
        elif change.newer is None and change.merged_record is not None:
            push(walk.deletion(change.merged_record))
        if change.older is not None:
            if change.newer is None or not change.came_by_merge:
                push(walk.origin(change.older))
        elif earlier and change.merged is None:
            push(walk.deletion(change.record))


class _Walk:
    """Walks back from commits along their first parents."""

    def __init__(
        self, core: Core, key: EntityAddress, access: ActorAccess | None, most_versions: int | None
    ) -> None:
        self._core, self._key, self._access = core, key, access
        self._left = most_versions
        self._past = Ancestry(core.truth.chains)

    def find(self, record: CommitRecord) -> StoredEntity | None:
        """Return the entity at a commit; None where it is not there."""
        if self._left is not None:
            if not self._left:
                raise TooFarBack
            self._left -= 1
        return find_entity(self._core, record, self._key)

    def origin(self, entity: StoredEntity) -> EntityStep:
        """Return the commit that made an entity what it is."""
        record, known = entity.record, entity
        while (parent := self._parent(record)) is not None:
            if not self._is_surely_the_same(record, parent, known):
                older = self.find(parent)
                newer = self._at(record, known)
                if older is None or newer.list_changed(older):
                    took_in = list_gone(record.metadata, self._key)
                    return EntityStep(record, older, newer, self._find_merged(record), None, took_in)
                known = older
            record = parent
        return EntityStep(record, None, self._at(record, known))

    def deletion(self, absent: CommitRecord) -> EntityStep | None:
        """Return the newest commit, up to one at which the entity is not there, that deleted it."""
        record, tables = absent, absent.tables
        while (parent := self._parent(record)) is not None:
            table, former = tables.get(self._key.identity), parent.tables.get(self._key.identity)
            went_into = find_kept(record.metadata, self._key)
            if former is not None and (table is None or table.pin.path != former.pin.path):
                older = self.find(parent)
                if older is not None or went_into is not None:
                    merged = self._see_merged(record)
                    there = self.find(merged) if merged is not None else None
                    return EntityStep(record, older, None, there, went_into, (), merged)
            record, tables = parent, parent.tables
        return None

    def _parent(self, record: CommitRecord) -> CommitRecord | None:
        return self._past.at(record.parent) if record.parent is not None else None

    def _find_merged(self, record: CommitRecord) -> StoredEntity | None:
        merged = self._see_merged(record)
        return self.find(merged) if merged is not None else None

    def _see_merged(self, record: CommitRecord) -> CommitRecord | None:
        """Return what a commit merged, if there is still such a commit, and it may be seen."""
        ref = record.merged_parent
        merged = self._past.at(ref) if ref is not None else None
        return (
            None if merged is None or (self._access is not None and not self._access.sees(merged)) else merged
        )

    def _at(self, record: CommitRecord, known: StoredEntity) -> StoredEntity:
        """Return an entity at a commit from which on it has stayed as it is known."""
        if record is known.record:
            return known
        found = self.find(record)
        assert found is not None
        return found

    def _is_surely_the_same(self, record: CommitRecord, parent: CommitRecord, known: StoredEntity) -> bool:
        new, old = record.tables.get(self._key.identity), parent.tables.get(self._key.identity)
        if new is None or old is None or record.parent is None or record.parent.commit != parent.commit:
            return False
        return is_staged_on(record, new, old) and known.row.last_changed <= old.pin.version


def _newest_first(record: CommitRecord) -> tuple[int, int, str]:
    return (-record.seq, -record.created_at, record.commit)
