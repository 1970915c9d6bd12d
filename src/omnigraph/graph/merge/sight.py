"""What of a merge's conflicts an actor is told who does not see all properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.merge.conflicts import MergeConflict, without_properties
from omnigraph.graph.merge.duplicates.rules import DuplicateRule
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.opening import Core
from omnigraph.graph.write.work import WriteGuard


class ConflictSight:
    """The conflicts of a merge as its actor may know them; one about what is hidden refuses the merge."""

    def __init__(self, core: Core, guard: WriteGuard, sides: Sides) -> None:
        self._core, self._guard, self._sides = core, guard, sides

    def check_rules(self, rules: Sequence[DuplicateRule]) -> None:
        """Refuse rules about hidden properties, as about those that are not there."""
        for rule in rules:
            rule.table(self._guard.catalog_at(self._sides.ours))

    def hidden_names(self, kind: str, type_name: str) -> frozenset[str]:
        """Return the properties of a type that are hidden on any of the sides."""
        records = self._sides.base, self._sides.ours, self._sides.theirs
        key = f"{kind}:{type_name}"
        return frozenset(name for record in records for name in self._hidden_at(record, key))

    def cut(self, conflicts: Sequence[MergeConflict]) -> tuple[MergeConflict, ...]:
        """Return conflicts without hidden properties."""
        return tuple(self._cut(item) for item in conflicts)

    def _cut(self, conflict: MergeConflict) -> MergeConflict:
        hidden = self.hidden_names(conflict.entity_kind, conflict.type_name)
        if not hidden:
            return conflict
        sides = (conflict.base, conflict.ours, conflict.theirs)
        base, ours, theirs = (without_properties(image, hidden) for image in sides)
        is_one_sided = base is not None and not conflict.entities and base in (ours, theirs)
        if is_one_sided or hidden & {*conflict.properties}:
            self._guard.refuse_untold(self._sides.ours)
        return replace(conflict, base=base, ours=ours, theirs=theirs)

    def _hidden_at(self, record: CommitRecord, table_key: str) -> frozenset[str]:
        whole = self._core.catalog_at(record).table(table_key)
        seen = self._guard.catalog_at(record).table(table_key)
        if whole is None or seen is None:
            return frozenset()
        return frozenset(whole.by_name.keys() - seen.by_name.keys())
