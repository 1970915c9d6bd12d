"""One table in a merge: its three versions, what each side changed, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import CorruptState
from omnigraph.compiler.catalog.combine.clashes import SIDES
from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.changes.descent import grew
from omnigraph.graph.changes.equality import equal_values
from omnigraph.graph.changes.rows import NOTHING_CHANGED, ChangedRows, find_changed_rows
from omnigraph.graph.changes.table_version import RowIds, TableVersion
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.merge.answers.custom_row import custom_row
from omnigraph.graph.merge.answers.resolutions import Resolution, Resolutions, Take
from omnigraph.graph.merge.classify import Disagreed, Settled, Strategy, classify
from omnigraph.graph.merge.conflicts import ConflictKind, MergeConflict, image_of
from omnigraph.graph.merge.equality import same
from omnigraph.graph.merge.images import from_plain, migrate, plain_by_id, schema_of_images
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.opening import Core
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.storage.versions.changes import candidates

Row = Mapping[str, Any]
_MAX_ROWS_TO_LOOK_UP = 10_000


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """How many entities of one type a merge changes on the target."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)


@dataclass(frozen=True, slots=True)
class ThreeWayRow:
    """One entity in the columns of the result, as each commit has it."""

    base: Row | None
    ours: Row | None
    theirs: Row | None


@dataclass(frozen=True, slots=True)
class Choice:
    """An entity that somebody has settled."""

    images: ThreeWayRow
    row: Row | None


@dataclass(frozen=True)
class TargetRows:
    """Where rows that a change replaces or removes stand in the version that it is staged on."""

    ids: pa.Array
    rows: RowIds


@dataclass
class MergedRows:
    """What becomes of a table: the change to the side it is built on, and where the sides disagree."""

    delta: TableDelta
    counts: MergeCounts
    standing: TargetRows | None
    """None when that is not known and must be looked up."""
    conflicts: list[MergeConflict] = field(default_factory=list)


class TableMerge:
    """One table of a merge, by its identity; differences are found once."""

    def __init__(self, core: Core, sides: Sides, identity: str, type_: TableType | None = None) -> None:
        """Take the type of the result, where it is not that of the side that the table is built on."""
        is_alone = identity not in sides.onto.tables
        sides = sides.for_table(identity)
        self._core, self._sides, self._identity = core, sides, identity
        onto = TableVersion.of(core, sides.onto, identity)
        if onto is None:
            raise CorruptState(f"commit {sides.onto.commit} has no table {identity}", table=identity)
        self.onto = onto
        self.type = type_ or onto.type
        """The type of the result."""
        # What ours does not have comes to it as a whole.
        self.base = None if is_alone else TableVersion.of(core, sides.base, identity)
        self.other = None if is_alone else TableVersion.of(core, sides.other, identity)

    @property
    def changes_of_theirs(self) -> ChangedRows:
        """What comes to the target with a table that becomes theirs."""
        return self.changes_here if self._sides.on_theirs else self.changes_there

    @cached_property
    def changes_here(self) -> ChangedRows:
        """What the side that the result is built on has changed."""
        return self._changes(self.onto, self._sides.onto)

    @cached_property
    def changes_there(self) -> ChangedRows:
        """What the other side has changed, as far as the result has properties for it."""
        found = self._changes(self.other, self._sides.other)
        if self.other is None or not len(found.updated):
            return found
        known = {item.id for item in self.type.properties}
        return (
            self._leave_out_dropped(found)
            if any(item.id not in known for item in self.other.type.properties)
            else found
        )

    def compare(self, both: bool) -> None:
        """Find what the other side has changed, and what this one has."""
        _ = self.changes_there, self.changes_here if both else None

    @property
    def changed_nothing(self) -> bool:
        """Whether the side that the result is built on is known to have the rows of the base.

        What is cheap to find out is found out: a table that moved and came back keeps its version.
        """
        base, onto = self.base, self.onto
        if base is None or base.type != onto.type or base.entry.rows != onto.entry.rows:
            return False
        found = candidates(base.rows, onto.rows, by_files=True, one_lineage=False)
        return len(found.old) + len(found.new) <= _MAX_ROWS_TO_LOOK_UP and len(self.changes_here) == 0

    def merge_rows(
        self, strategy: Strategy, answers: Resolutions, chosen: Mapping[str, Choice]
    ) -> MergedRows:
        """Merge the rows of a table that both sides have changed."""
        here, there = self.changes_here, self.changes_there
        settled = pa.array(chosen, pa.string())
        both = _without(_ids(there).filter(pc.is_in(_ids(there), _ids(here))), settled)
        apart = pa.concat_arrays([both, settled])
        rows, removed = self._brought_over(apart)
        outcomes = dict(chosen)
        conflicts = []
        for id_, images in self._images_of_both(both).items():
            found = self.settle_entity(id_, images, strategy, answers)
            if isinstance(found, MergeConflict):
                conflicts.append(found)
            else:
                outcomes[id_] = found
        changed: dict[str, Row] = {}
        for id_, choice in outcomes.items():
            stands = self._here(choice.images)
            if choice.row is None and stands is not None:
                removed.append(id_)
            elif choice.row is not None and not same(choice.row, stands):
                changed[id_] = choice.row
        if changed:
            rows = pa.concat_tables([rows, from_plain(self.type, changed)])
        delta = self._delta(rows, removed)
        standing = self._find_target_rows(delta.touched) if not chosen else None
        return MergedRows(delta, self._counts(apart, outcomes), standing, conflicts)

    def take_theirs(self, whole: bool) -> TableDelta:
        """Return the other side's change as a change to this one, which has none of its own.

        What stands in its columns needs no check unless the rules are others here: then `whole`.
        """
        found = self.changes_there
        ids = pa.concat_arrays([found.inserted, found.updated])
        assert self.other is not None
        if whole:
            rows = self._in_columns_here(found.after_images(ids), self.other)
        else:
            names = ["id"] if self.type.kind == "node" else ["id", "src", "dst"]
            rows = found.after_columns(ids, names)
        return self._delta(rows, found.deleted.to_pylist())

    def as_a_whole(self, delta: TableDelta | None) -> TableDelta:
        """Return all rows of the result as the table that replaces it, to be checked by every rule."""
        everything = find_changed_rows(None, self.onto)
        ids = _without(everything.inserted, delta.touched) if delta is not None else everything.inserted
        rows = delta.rows if delta is not None else schema_of_images(self.type).empty_table()
        if len(ids):
            kept = self._in_columns_here(everything.after_images(ids), self.onto)
            rows = pa.concat_tables([kept, rows])
        return replace(self._delta(rows, []), replaces=True)

    def changed_columns(self, by_theirs: bool, names: Sequence[str]) -> pa.Table:
        """Return the ids of what a side has inserted or updated, with some columns of the result."""
        is_onto = by_theirs is self._sides.on_theirs
        found, version = (self.changes_here, self.onto) if is_onto else (self.changes_there, self.other)
        ids = pa.concat_arrays([found.inserted, found.updated])
        if version is None or not len(ids):
            return schema_of_images(self.type).empty_table().select(["id", *names])
        if version.type == self.type:
            return found.after_columns(ids, ["id", *names])
        return self._in_columns_here(found.after_images(ids), version).select(["id", *names])

    def counts_of(self, changes: ChangedRows) -> MergeCounts:
        """Return how many rows a side has changed."""
        return MergeCounts(len(changes.inserted), len(changes.updated), len(changes.deleted))

    def images(self, ids: pa.Array) -> dict[str, ThreeWayRow]:
        """Look entities up in all three versions; ids that none has are left out."""
        found = [
            plain_by_id(self.type, self._in_columns_here(version.images_of(ids), version)) if version else {}
            for version in (self.base, self.onto, self.other)
        ]
        known = [id_ for id_ in ids.to_pylist() if any(id_ in rows for rows in found)]
        return {id_: self._three(*(rows.get(id_) for rows in found)) for id_ in known}

    def settle_entity(
        self, id_: str, images: ThreeWayRow, strategy: Strategy, answers: Resolutions
    ) -> Choice | MergeConflict:
        """Return what becomes of an entity; or the conflict that it is in, when nobody has answered it."""
        found = self.classify(images, strategy)
        if isinstance(found, Settled):
            return Choice(images, found.row)
        conflict = self.conflict(found, id_, images)
        answer = answers.answer(conflict)
        if answer is None:
            return answers.describe_left(conflict)
        return Choice(images, self.apply_answer(answer, images, found.combined))

    def classify(self, images: ThreeWayRow, strategy: Strategy) -> Settled | Disagreed:
        """Settle an entity without asking anybody."""
        return classify(self.type, images.base, images.ours, images.theirs, strategy)

    def apply_answer(self, answer: Resolution, images: ThreeWayRow, combined: Row) -> Row | None:
        """Return the entity that an answer asks for; what is combined already stays unless it is custom."""
        if answer.take is Take.CUSTOM:
            stands = images.ours or images.theirs or images.base or {}
            return custom_row(self.type, answer.image, {**stands, **combined})
        side: Row | None = getattr(images, answer.take)
        return None if side is None else {**side, **combined}

    def show(self, images: ThreeWayRow) -> dict[str, Any]:
        """Return the images of an entity as a conflict shows them."""
        return {side: image_of(self.type, getattr(images, side)) for side in SIDES}

    def _changes(self, version: TableVersion | None, record: CommitRecord) -> ChangedRows:
        if self.base is None and version is None:
            return NOTHING_CHANGED
        grown = grew(self._core.truth.chains, self._sides.base, record, self._identity)
        return find_changed_rows(self.base, version, one_lineage=grown)

    def _leave_out_dropped(self, found: ChangedRows) -> ChangedRows:
        """Leave out the updates that are in nothing but properties that the result does not have."""
        assert self.base is not None
        assert self.other is not None
        before = self._in_columns_here(found.before_images(found.updated), self.base)
        after = self._in_columns_here(found.after_images(found.updated), self.other)
        kept = np.zeros(len(found.updated), np.bool_)
        for name in before.column_names:
            kept |= ~equal_values(before[name].combine_chunks(), after[name].combine_chunks())
        old, new = found.updated_rows
        return replace(
            found, updated=found.updated.filter(pa.array(kept)), updated_rows=(old[kept], new[kept])
        )

    def _find_target_rows(self, touched: pa.Array) -> TargetRows:
        """Return the rows that stand under these ids here; what this side left alone is where it was."""
        here, there = self.changes_here, self.changes_there
        own, left = (
            pa.concat_arrays([here.updated, here.inserted]),
            pa.concat_arrays([there.updated, there.deleted]),
        )
        alone = pc.invert(pc.is_in(left, _ids(here)))
        before = np.concatenate([there.updated_rows[0], there.deleted_rows])
        known = pa.concat_arrays([own, left.filter(alone)])
        rows = np.concatenate(
            [
                here.updated_rows[1],
                here.inserted_rows,
                before[np.asarray(alone.to_numpy(zero_copy_only=False))],
            ]
        )
        places = pc.index_in(touched, value_set=known)
        return TargetRows(touched.filter(places.is_valid()), rows[np.asarray(places.drop_null(), np.int64)])

    def _brought_over(self, apart: pa.Array) -> tuple[pa.Table, list[str]]:
        """Return the rows and removals that only the other side has made."""
        there = self.changes_there
        ids = _without(pa.concat_arrays([there.inserted, there.updated]), apart)
        if len(ids) == 0 or self.other is None:
            rows = schema_of_images(self.type).empty_table()
        else:
            rows = self._in_columns_here(there.after_images(ids), self.other)
        return rows, _without(there.deleted, apart).to_pylist()

    def _images_of_both(self, ids: pa.Array) -> dict[str, ThreeWayRow]:
        if len(ids) == 0:
            return {}
        here, there = self.changes_here, self.changes_there
        before = self._fetch(here.before_images, ids, (here.deleted, here.updated), self.base)
        mine = self._fetch(here.after_images, ids, (here.inserted, here.updated), self.onto)
        yours = self._fetch(there.after_images, ids, (there.inserted, there.updated), self.other)
        return {id_: self._three(before.get(id_), mine.get(id_), yours.get(id_)) for id_ in ids.to_pylist()}

    def _fetch(
        self,
        fetch: Callable[[pa.Array], pa.Table],
        ids: pa.Array,
        among: tuple[pa.Array, pa.Array],
        version: TableVersion | None,
    ) -> dict[str, dict[str, Any]]:
        wanted = ids.filter(pc.is_in(ids, pa.concat_arrays(list(among))))
        if len(wanted) == 0 or version is None:
            return {}
        return plain_by_id(self.type, self._in_columns_here(fetch(wanted), version))

    def _in_columns_here(self, rows: pa.Table, version: TableVersion) -> pa.Table:
        return migrate(rows, version.type, self.type)

    def _three(self, base: Row | None, here: Row | None, there: Row | None) -> ThreeWayRow:
        return ThreeWayRow(base, there, here) if self._sides.on_theirs else ThreeWayRow(base, here, there)

    def _here(self, images: ThreeWayRow) -> Row | None:
        return images.theirs if self._sides.on_theirs else images.ours

    def _delta(self, rows: pa.Table, removed: list[str]) -> TableDelta:
        ids = rows["id"].to_pylist()
        return TableDelta(self.type, rows, removed, place=lambda row: ids[row])

    def _counts(self, apart: pa.Array, outcomes: Mapping[str, Choice]) -> MergeCounts:
        theirs = self.changes_of_theirs
        alone = [len(_without(ids, apart)) for ids in (theirs.inserted, theirs.updated, theirs.deleted)]
        for choice in outcomes.values():
            stood = choice.images.ours
            if not same(choice.row, stood):
                alone[0 if stood is None else 2 if choice.row is None else 1] += 1
        return MergeCounts(*alone)

    def conflict(self, found: Disagreed, id_: str, images: ThreeWayRow) -> MergeConflict:
        """Return a disagreement about an entity as it is told."""
        name = f"{self.type.kind} {self.type.name} '{id_}'"
        message = {
            ConflictKind.DIVERGENT_INSERT: f"both sides added {name}, differently",
            ConflictKind.DIVERGENT_UPDATE: f"both sides changed {name}, differently",
            ConflictKind.DELETE_VS_UPDATE: f"one side deleted {name}, the other changed it",
        }[found.kind]
        if found.properties:
            message += f": {', '.join(found.properties)}"
        return MergeConflict(
            found.kind.value,
            self.type.kind,
            self.type.name,
            id_,
            message,
            **self.show(images),
            properties=found.properties,
        )


def _ids(changes: ChangedRows) -> pa.Array:
    return pa.concat_arrays([changes.inserted, changes.updated, changes.deleted])


def _without(ids: pa.Array, others: pa.Array) -> pa.Array:
    return ids.filter(pc.invert(pc.is_in(ids, others))) if len(ids) and len(others) else ids
