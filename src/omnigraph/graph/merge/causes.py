"""Who has made the sides of a conflict what they are, when and why; it is looked for not too far back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from omnigraph.base.errors import CorruptState, HistoricalVersionReclaimed, NotFound
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.entity.history import EntityStep, TooFarBack, list_steps
from omnigraph.graph.entity.stored import EntityAddress, find_entity
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.merge.conflicts import ConflictCause, ConflictKind, MergeConflict
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.opening import Core

_MAX_EXPLAINED_CONFLICTS = 100
_MOST_VERSIONS = 64
_MAX_SEARCHED_COMMITS = 1_000
_DEFINITIONS = {"schema": "schema", "query": "queries"}
"""What conflicts about definitions are in, in the record of a commit."""


class ConflictCauses:
    """The commits behind the conflicts of one merge."""

    def __init__(self, core: Core, sides: Sides, access: ActorAccess | None, measures: bool) -> None:
        """Take what the reader may see; without `measures` nothing that the engine has counted is told."""
        self._core, self._sides, self._access, self._measures = core, sides, access, measures
        self._catalog = sides.catalog(core.schemas)

    def explain(self, conflicts: Sequence[MergeConflict]) -> tuple[MergeConflict, ...]:
        """Return conflicts with what their sides come from; of very many only the first are looked at."""
        told = [self._explain(item) for item in conflicts[:_MAX_EXPLAINED_CONFLICTS]]
        return (*told, *conflicts[_MAX_EXPLAINED_CONFLICTS:])

    def _explain(self, conflict: MergeConflict) -> MergeConflict:
        ours, theirs = (self._find(conflict, side) for side in (self._sides.ours, self._sides.theirs))
        return replace(conflict, ours_by=ours, theirs_by=theirs)

    def _find(self, conflict: MergeConflict, side: CommitRecord) -> ConflictCause | None:
        try:
            if conflict.entity_kind in _DEFINITIONS:
                record = self._find_definition(_DEFINITIONS[conflict.entity_kind], side)
            else:
                record = self._find_change(conflict, side)
        except (TooFarBack, CorruptState, HistoricalVersionReclaimed, NotFound):
            return None  # what is lost or long ago keeps no conflict from being told
        if record is None or (self._access is not None and not self._access.sees(record)):
            return None
        commit = Commit.of(record) if self._measures else Commit.of(record).without_measures()
        return ConflictCause(commit.id, commit.actor, commit.created_at, commit.message, commit.metadata)

    def _find_change(self, conflict: MergeConflict, side: CommitRecord) -> CommitRecord | None:
        """Return the last commit of a side that changed what the conflict is about."""
        table = self._catalog.table(f"{conflict.entity_kind}:{conflict.type_name}")
        ids = (conflict.entity_id,) if conflict.entity_id is not None else conflict.entities[:1]
        if conflict.kind == ConflictKind.POSSIBLE_DUPLICATE and side is self._sides.ours:
            ids = conflict.entities[1:]
        if table is None or not ids:
            return None
        key = EntityAddress(table_identity(table), ids[0])
        if not self._has_changed(key, side):
            return None
        steps = list_steps(self._core, side, key, access=self._access, most_versions=_MOST_VERSIONS)
        made = (step for step in steps if not step.came_by_merge)
        return _choose(islice(made, _MOST_VERSIONS), frozenset(conflict.properties))

    def _has_changed(self, key: EntityAddress, side: CommitRecord) -> bool:
        before, now = (find_entity(self._core, record, key) for record in (self._sides.base, side))
        if before is None or now is None:
            return before is not now
        return bool(now.list_changed(before))

    def _find_definition(self, name: str, side: CommitRecord) -> CommitRecord | None:
        """Return the last commit of a side that changed the schema, or the stored queries."""
        if same_schema(getattr(side, name), getattr(self._sides.base, name)):
            return None
        past, record = Ancestry(self._core.truth.chains), side
        for _ in range(_MAX_SEARCHED_COMMITS):
            parent = past.at(record.parent) if record.parent is not None else None
            if parent is None or not same_schema(getattr(parent, name), getattr(record, name)):
                return record
            record = parent
        return None


def _choose(steps: Iterator[EntityStep], names: frozenset[str]) -> CommitRecord | None:
    """Return the newest of some changes that is about some properties; the newest of all where none is."""
    newest: CommitRecord | None = None
    try:
        for step in steps:
            newest = newest or step.record
            if not names or step.older is None or step.newer is None:
                return step.record
            if not names.isdisjoint(step.newer.list_changed(step.older)):
                return step.record
    except TooFarBack:
        pass
    return newest
