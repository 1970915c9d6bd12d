"""What becomes of each entity whose changes are taken back: commit by commit, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.graph.changes.descent import grew
from omnigraph.graph.changes.rows import ChangedRows, find_changed_rows
from omnigraph.graph.changes.table_version import TableVersion
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.merge.choices import Choices
from omnigraph.graph.merge.classify import Row, Settled
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.graph.merge.images import migrate, plain_by_id
from omnigraph.graph.merge.sides import same_content
from omnigraph.graph.merge.tables import Choice, TableMerge, ThreeWayRow
from omnigraph.graph.merge.undo.select import Undone
from omnigraph.graph.opening import Core


@dataclass
class Undoing:
    """The taking back of some commits in one merge."""

    core: Core
    choices: Choices
    commits: Sequence[Undone]
    _stands: dict[tuple[str, str], Choice] = field(default_factory=dict)
    """What entities are so far, by table identity and id."""
    _left: dict[tuple[str, str], MergeConflict] = field(default_factory=dict)

    def settle(self) -> list[MergeConflict]:
        """Settle what the commits have changed; return where others have changed the same since."""
        known = set(self.choices.identities.values())
        for undone in self.commits:
            for identity in sorted(known & set(undone.record.tables) | known & set(undone.before.tables)):
                here, there = (side.tables.get(identity) for side in (undone.record, undone.before))
                if not same_content(here, there):
                    self._undo(identity, undone)
        for (identity, id_), choice in self._stands.items():
            if (identity, id_) not in self._left:
                self.choices.put(identity, id_, choice.images, choice.row)
        return list(self._left.values())

    def _undo(self, identity: str, undone: Undone) -> None:
        table = self.choices.table(identity)
        changes = self._changes(identity, undone.before, undone.record)
        if undone.merged is not None:
            changes = _among(changes, self._changes(identity, undone.merged, undone.record))
        ids = pa.concat_arrays([changes.inserted, changes.updated, changes.deleted])
        if not len(ids):
            return
        was, made = _images(table, changes)
        settled = self.choices.of(identity)
        self._look_up(identity, [id_ for id_ in ids.to_pylist() if id_ not in settled])
        for id_ in ids.to_pylist():
            if id_ not in settled and (identity, id_) not in self._left:
                self._take_back(identity, id_, table, was.get(id_), made.get(id_))

    def _take_back(
        self, identity: str, id_: str, table: TableMerge, was: Row | None, made: Row | None
    ) -> None:
        now = self._stands[identity, id_]
        images = ThreeWayRow(made, now.row, was)
        found = table.classify(images, self.choices.strategy)
        if isinstance(found, Settled):
            self._stands[identity, id_] = Choice(now.images, found.row)
            return
        conflict = table.conflict(found, id_, images)
        answer = self.choices.answers.answer(conflict)
        if answer is None:
            self._left[identity, id_] = self.choices.answers.describe_left(conflict)
        else:
            row = table.apply_answer(answer, images, found.combined)
            self._stands[identity, id_] = Choice(now.images, row)

    def _look_up(self, identity: str, ids: Sequence[str]) -> None:
        """Find what entities are now, those that nobody has looked at yet."""
        new = [id_ for id_ in ids if (identity, id_) not in self._stands]
        found = self.choices.look_up(identity, new)
        nothing = ThreeWayRow(None, None, None)
        self._stands.update({(identity, id_): found.get(id_, Choice(nothing, None)) for id_ in new})

    def _changes(self, identity: str, before: CommitRecord, after: CommitRecord) -> ChangedRows:
        old, new = (TableVersion.of(self.core, side, identity) for side in (before, after))
        grown = grew(self.core.truth.chains, before, after, identity)
        return find_changed_rows(old, new, one_lineage=grown)


def _among(changes: ChangedRows, others: ChangedRows) -> ChangedRows:
    """Return the changes to entities that are among those of others."""
    ids = pa.concat_arrays([others.inserted, others.updated, others.deleted])
    return changes.only(lambda found: pc.is_in(found, value_set=ids))


def _images(table: TableMerge, changes: ChangedRows) -> tuple[dict[str, Row], dict[str, Row]]:
    """Return what entities were before and after a commit, in the columns of the result."""
    was: dict[str, Row] = {}
    made: dict[str, Row] = {}
    for rows, images, version, among in (
        (changes.before_images, was, changes.before, (changes.updated, changes.deleted)),
        (changes.after_images, made, changes.after, (changes.updated, changes.inserted)),
    ):
        ids = pa.concat_arrays(list(among))
        if version is not None and len(ids):
            images.update(plain_by_id(table.type, migrate(rows(ids), version.type, table.type)))
    return was, made
