"""What people have settled though no images disagree: entities by name, and answers to broken rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.merge.answers.resolutions import Resolutions, Take
from omnigraph.graph.merge.classify import Row, Settled, Strategy, by_rules
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.graph.merge.equality import same
from omnigraph.graph.merge.tables import Choice, TableMerge, ThreeWayRow


@dataclass
class Choices:
    """Entities as somebody wants them, by table identity and id."""

    strategy: Strategy
    answers: Resolutions
    catalog: Catalog
    identities: Mapping[str, str]
    """By table key."""
    table: Callable[[str], TableMerge]
    """Gives a table of the merge by its identity."""
    in_steps: bool
    """Whether an entity that stands, and that their commit leaves alone, is left alone."""
    _chosen: dict[str, dict[str, Choice]] = field(default_factory=dict)
    _used: set[tuple[str, str, str, tuple[str, ...]]] = field(default_factory=set)
    """Broken rules that an answer was used for: once each, so two answers cannot undo each other for ever."""

    def of(self, identity: str) -> Mapping[str, Choice]:
        """Return what is settled in a table."""
        return self._chosen.get(identity, {})

    def put(self, identity: str, id_: str, images: ThreeWayRow, row: Row | None) -> None:
        """Settle an entity as `row`."""
        self._chosen.setdefault(identity, {})[id_] = Choice(images, row)

    def look_up(self, identity: str, ids: Collection[str]) -> dict[str, Choice]:
        """Return entities as they are settled now; those that no commit has and nobody made are left out."""
        chosen, found = self.of(identity), {}
        table = self.table(identity)
        images = table.images(pa.array(sorted(id_ for id_ in ids if id_ not in chosen), pa.string()))
        for id_, three in images.items():
            settled = table.settle_entity(id_, three, self.strategy, self.answers)
            if isinstance(settled, Choice):
                found[id_] = settled
        return found | {id_: chosen[id_] for id_ in ids if id_ in chosen}

    def force(self) -> None:
        """Settle the entities that an answer names and that are in no conflict by themselves."""
        looked_at: set[tuple[str, str]] = set()
        for answer in self.answers.forced:
            declared = self.catalog.table(f"{answer.entity_kind}:{answer.type_name}")
            if declared is None:
                raise BadInput(
                    f"a resolution names {answer.entity_kind} {answer.type_name}, which is not in the schema",
                    type=answer.type_name,
                )
            assert answer.entity_id is not None
            identity, id_ = self.identities[declared.table_key], answer.entity_id
            table, images = self._look_up(identity, id_)
            if images is None or (identity, id_) in looked_at:
                continue
            if self.answers.is_stale(answer, declared.kind, declared.name, table.show(images)):
                continue
            looked_at.add((identity, id_))
            if self.in_steps and images.ours is not None and same(images.theirs, images.base):
                continue
            found = table.classify(images, self.strategy)
            if isinstance(found, Settled):
                ruled = by_rules(table.type, images.base, images.ours, images.theirs)
                self._choose(identity, id_, images, table.apply_answer(answer, images, ruled), found.row)

    def settle_answered(self, conflicts: list[MergeConflict]) -> list[MergeConflict]:
        """Settle the broken rules that have an answer, and return the others."""
        return [self.answers.describe_left(conflict) for conflict in conflicts if not self._settles(conflict)]

    def _settles(self, conflict: MergeConflict) -> bool:
        """Settle what stands in the way of a rule as somebody answered; False when that changes nothing."""
        answer = self.answers.answer(conflict)
        identity = self.identities.get(f"{conflict.entity_kind}:{conflict.type_name}")
        if answer is None or identity is None or conflict.entity_id is None:
            return False
        id_, named = conflict.entity_id, conflict.properties
        case = (identity, id_, conflict.kind, named)
        table, images = self._look_up(identity, id_)
        if images is None or case in self._used:
            return False
        self._used.add(case)
        now = self.of(identity).get(id_) or table.settle_entity(id_, images, self.strategy, self.answers)
        assert isinstance(now, Choice)
        kept = dict(now.row or {})
        if answer.take is not Take.CUSTOM:
            kept = {name: value for name, value in kept.items() if named and name not in named}
        return self._choose(identity, id_, images, table.apply_answer(answer, images, kept), now.row)

    def _choose(
        self, identity: str, id_: str, images: ThreeWayRow, row: Row | None, stands: Row | None
    ) -> bool:
        """Settle an entity as `row`; False when it would be that anyway."""
        if same(row, stands):
            return False
        self._chosen.setdefault(identity, {})[id_] = Choice(images, row)
        return True

    def _look_up(self, identity: str, id_: str) -> tuple[TableMerge, ThreeWayRow | None]:
        table = self.table(identity)
        return table, table.images(pa.array([id_], pa.string())).get(id_)
