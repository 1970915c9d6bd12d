"""What a merge would do, as data: decided from three commits, with nothing written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.internals import FindPairs
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.merge_base import Outcome
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.merge.answers.resolutions import Resolutions
from omnigraph.graph.merge.choices import Choices
from omnigraph.graph.merge.classify import Strategy
from omnigraph.graph.merge.conflicts import ConflictKind, MergeConflict, in_order
from omnigraph.graph.merge.duplicates.changed import find_last_change
from omnigraph.graph.merge.duplicates.rules import DuplicateRule, NodeCombination
from omnigraph.graph.merge.duplicates.settle import DuplicateNodes
from omnigraph.graph.merge.integrity import Broken, entities_of, entity_of, kind_of, violations
from omnigraph.graph.merge.schemas.decide import decide_schema
from omnigraph.graph.merge.schemas.queries import decide_queries
from omnigraph.graph.merge.schemas.rules import asks_for_more
from omnigraph.graph.merge.schemas.stored import stored_rows
from omnigraph.graph.merge.sides import Sides, TableOutcome, fates, same_content
from omnigraph.graph.merge.tables import MergeCounts, TableMerge, TargetRows
from omnigraph.graph.merge.undo.select import Undone
from omnigraph.graph.merge.undo.settle import Undoing
from omnigraph.graph.opening import Core
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.problems import Problem
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.write_state import WriteBase


@dataclass(frozen=True)
class Options:
    """How the user wants disagreements to be settled."""

    strategy: Strategy = Strategy.ENTITY
    answers: Resolutions = field(default_factory=Resolutions)
    in_steps: bool = False
    """Whether this is one commit of several, and an answer may be for another one of them."""
    same_as: tuple[DuplicateRule, ...] = ()
    """What finds duplicates."""
    find_pairs: FindPairs | None = None
    """Runs the stored queries among `same_as`; None for who may not stage what they are asked about."""
    undone: tuple[Undone, ...] = ()
    """The commits that are taken back, whatever they have changed."""
    access: ActorAccess | None = None
    """What the user may see of the history that conflicts tell of; None for all of it."""

    @property
    def queries(self) -> tuple[DuplicateRule, ...]:
        """The rules that are stored queries: they look at the result, when there is one."""
        return tuple(rule for rule in self.same_as if rule.query is not None)

    @property
    def by_values(self) -> tuple[DuplicateRule, ...]:
        """The rules that compare values."""
        return tuple(rule for rule in self.same_as if rule.query is None)

    @property
    def looks_at_entities(self) -> bool:
        """Whether entities are looked at that are in no conflict by themselves."""
        return bool(self.answers.forced or self.answers.combining or self.by_values or self.undone)


@dataclass(frozen=True)
class MergePlan:
    """What a merge does to the target, or why it cannot."""

    sides: Sides
    outcome: Outcome
    conflicts: tuple[MergeConflict, ...] = ()
    counts: Mapping[str, MergeCounts] = field(default_factory=dict)
    """By table key."""
    takes: tuple[str, ...] = ()
    """Identities of tables that become theirs as they are; under a combined schema, in its columns."""
    deltas: Mapping[str, TableDelta] = field(default_factory=dict)
    """By table key: rows to stage on the side that the result is built on."""
    standing: Mapping[str, TargetRows] = field(default_factory=dict)
    """By table key: where the rows stand that the deltas replace, as far as that is known."""
    drops: tuple[str, ...] = ()
    """Keys of tables that the target loses."""
    queries: QuerySet | None = None
    """The stored queries that the target gets; None when it keeps its own."""
    combination: NodeCombination = field(default_factory=NodeCombination)


def fast_forward(core: Core, sides: Sides) -> MergePlan:
    """Plan to become what theirs is: the target has said nothing since, so there is nothing to check."""
    sides = replace(sides, on_theirs=True)
    takes, counts = [], {}
    for identity, entry in sides.theirs.tables.items():
        if same_content(entry, sides.ours.tables.get(identity)):
            continue
        table = TableMerge(core, sides, identity)
        if table.changed_nothing:
            continue
        takes.append(identity)
        counts[entry.key] = table.counts_of(table.changes_here)
    has_same = same_schema(sides.ours.queries, sides.theirs.queries)
    return MergePlan(
        sides,
        Outcome.FAST_FORWARD,
        counts={key: count for key, count in counts.items() if count},
        takes=tuple(takes),
        drops=_drops(sides.ours, sides.theirs.tables),
        queries=None if has_same else core.schemas.queries(sides.theirs.queries),
    )


def plan_merge(core: Core, sides: Sides, options: Options, ours: WriteBase) -> MergePlan:
    """Plan a merge of two sides that have both moved; `ours` is the target as a writer sees it."""
    chosen = decide_schema(sides, core.schemas, options.answers)
    if not isinstance(chosen, Sides):
        return MergePlan(sides, Outcome.MERGED, in_order(chosen))
    queries, clashes = decide_queries(chosen, core.schemas, options.answers, core.settings.stored_query_bytes)
    plan = _Planning(core, chosen, options, ours).plan()
    return replace(plan, queries=queries, conflicts=in_order([*plan.conflicts, *clashes]))


def onto_base(core: Core, sides: Sides, ours: WriteBase) -> WriteBase:
    """Return the side that the result is built on, to read and to stage on."""
    if not sides.on_theirs:
        return ours
    return WriteBase(core.truth.store, replace(ours.state, head=sides.theirs))


class _Planning:
    """One plan in the making."""

    def __init__(self, core: Core, sides: Sides, options: Options, ours: WriteBase) -> None:
        self._core, self._sides, self._options = core, sides, options
        self._catalog: Catalog = sides.catalog(core.schemas)
        self._types = {table_identity(table): table for table in self._catalog.tables}
        self._identities = {table.table_key: identity for identity, table in self._types.items()}
        self._fates = fates(sides, self._types)
        self._tables: dict[str, TableMerge] = {}
        self._stored = stored_rows(sides, core.schemas, BranchRows(onto_base(core, sides, ours)))
        self._choices = Choices(
            options.strategy,
            options.answers,
            self._catalog,
            self._identities,
            self._table,
            options.in_steps,
        )
        self._duplicates = DuplicateNodes(
            self._choices,
            self._stored,
            options.by_values,
            partial(find_last_change, core, (sides.ours, sides.theirs)),
        )

    def plan(self) -> MergePlan:
        """Gather structural conflicts; without any, check the rules, settle what is answered, and again."""
        self._compare()
        self._choices.force()
        conflicts = Undoing(self._core, self._choices, self._options.undone).settle()
        if conflicts:
            return self._refuse(conflicts, {})
        has_looked = not self._duplicates.is_asked_for
        while True:
            deltas, whole, conflicts = self._merge_rows()
            if conflicts:
                return self._refuse(conflicts, self._counts)
            checked = {**self._take_over(whole), **deltas, **self._look_at_all(deltas, whole)}
            if not has_looked:
                has_looked, conflicts = True, self._duplicates.settle(checked)
                if conflicts:
                    return self._refuse(conflicts, self._counts)
                continue
            found = violations(self._catalog, checked, whole, self._stored)
            conflicts = self._as_conflicts(found)
            left = self._choices.settle_answered(conflicts)
            if len(left) == len(conflicts):
                return self._refuse(left, self._counts) if left else self._plan(deltas)

    def _compare(self) -> None:
        """Find what both sides have changed in each table, tables at the same time."""

        def compare(identity: str, fate: TableOutcome) -> None:
            table = self._make_table(identity)
            table.compare(both=fate is TableOutcome.MERGE)
            self._tables[identity] = table

        moved = [(identity, fate) for identity, fate in self._fates.items() if fate is not TableOutcome.KEEP]
        side_by_side([partial(compare, identity, fate) for identity, fate in moved])

    def _merge_rows(self) -> tuple[dict[str, TableDelta], set[str], list[MergeConflict]]:
        """Merge the rows of tables that both sides changed, or in which somebody has settled something."""
        deltas: dict[str, TableDelta] = {}
        whole: set[str] = set()
        conflicts: list[MergeConflict] = []
        self._counts: dict[str, MergeCounts] = {}
        self._standing: dict[str, TargetRows] = {}
        for identity, fate in self._fates.items():
            chosen = self._choices.of(identity)
            if fate is TableOutcome.MERGE or chosen:
                table = self._table(identity)
                merged = table.merge_rows(self._options.strategy, self._options.answers, chosen)
                conflicts += merged.conflicts
                self._counts[table.type.table_key] = merged.counts
                whole.add(table.type.table_key)
                deltas[table.type.table_key] = merged.delta
                if merged.standing is not None:
                    self._standing[table.type.table_key] = merged.standing
            else:
                self._count_moved(identity, fate)
        return deltas, whole, conflicts

    def _count_moved(self, identity: str, fate: TableOutcome) -> None:
        """Count what comes to the target with a table that becomes theirs as it is."""
        if not self._becomes_theirs(identity, fate):
            return
        table = self._table(identity)
        self._counts[table.type.table_key] = table.counts_of(table.changes_of_theirs)

    def _take_over(self, whole: set[str]) -> dict[str, TableDelta]:
        """Return the changes in tables that are taken over as they are; where rules differ, whole rows."""
        deltas: dict[str, TableDelta] = {}
        for identity, fate in self._fates.items():
            if fate is TableOutcome.TAKE and not self._choices.of(identity) and not self._is_alone(identity):
                table = self._table(identity)
                under_other_rules = table.other is None or table.other.type != table.type
                deltas[table.type.table_key] = table.take_theirs(whole=under_other_rules)
                if under_other_rules:
                    whole.add(table.type.table_key)
        return deltas

    def _look_at_all(self, deltas: Mapping[str, TableDelta], whole: set[str]) -> dict[str, TableDelta]:
        """Return whole tables where neither side is known to satisfy the rules that the result has."""
        found: dict[str, TableDelta] = {}
        for identity, type_ in self._types.items() if self._sides.combined_schema is not None else ():
            before, ours = self._sides.base.tables.get(identity), self._sides.ours.tables.get(identity)
            stands = not self._is_alone(identity) and (
                same_content(before, ours) or not asks_for_more(self._table(identity).onto.type, type_)
            )
            if not stands:
                found[type_.table_key] = self._table(identity).as_a_whole(deltas.get(type_.table_key))
                whole.add(type_.table_key)
        return found

    def _is_alone(self, identity: str) -> bool:
        """Return whether only the other side has a table of the result."""
        return identity not in self._sides.onto.tables

    def _becomes_theirs(self, identity: str, fate: TableOutcome) -> bool:
        """Return whether the target gets a version that lies on their side, as it is."""
        here, there = self._sides.ours.tables.get(identity), self._sides.theirs.tables.get(identity)
        if there is None or same_content(here, there):
            return False
        if self._sides.on_theirs:
            return fate is TableOutcome.KEEP
        return self._is_alone(identity) or (
            fate is TableOutcome.TAKE and len(self._table(identity).changes_there) > 0
        )

    def _plan(self, deltas: Mapping[str, TableDelta]) -> MergePlan:
        staged = {key: delta for key, delta in deltas.items() if delta.rows.num_rows or delta.removed}
        takes = [
            identity
            for identity, fate in self._fates.items()
            if (self._is_alone(identity) or not self._choices.of(identity))
            and self._becomes_theirs(identity, fate)
        ]
        if self._sides.on_theirs:
            # Merged rows that are all theirs already need no version of their own.
            takes += [
                identity for key, identity in self._identities.items() if key in deltas and key not in staged
            ]
        return MergePlan(
            self._sides,
            Outcome.MERGED,
            counts={key: counts for key, counts in self._counts.items() if counts},
            takes=tuple(sorted(takes)),
            deltas=staged,
            standing=self._standing,
            drops=_drops(self._sides.ours, self._types),
            combination=self._duplicates.combination,
        )

    def _refuse(self, conflicts: list[MergeConflict], counts: Mapping[str, MergeCounts]) -> MergePlan:
        told = {key: found for key, found in counts.items() if found}
        return MergePlan(self._sides, Outcome.MERGED, in_order(conflicts), told)

    def _as_conflicts(self, problems: list[Broken]) -> list[MergeConflict]:
        """Return broken rules as conflicts, each entity once for each kind, with its three images."""
        found: dict[tuple[ConflictKind, str, str | None, str], Problem] = {}
        for key, problem in problems:
            id_ = entity_of(problem)
            told = problem.message if id_ is None else ""
            found.setdefault((kind_of(problem), key, id_, told), problem)
        images = self._images({(key, id_) for _, key, id_, _ in found if id_ is not None})
        conflicts = []
        for (kind, key, id_, _), problem in found.items():
            entity, _, name = key.partition(":")
            blamed = id_ if id_ is not None else problem.place
            conflicts.append(
                MergeConflict(
                    kind.value,
                    entity,
                    name,
                    id_,
                    problem.message if blamed is None else f"{entity} {name} '{blamed}': {problem.message}",
                    **images.get((key, id_), {}),
                    properties=tuple(problem.property.split(", ")) if problem.property else (),
                    entities=entities_of(problem),
                )
            )
        return conflicts

    def _images(self, entities: Set[tuple[str, str]]) -> dict[tuple[str, str | None], dict[str, Any]]:
        """Return what conflicts show of entities, by table key and id; each table is looked into once."""
        found: dict[tuple[str, str | None], dict[str, Any]] = {}
        for key in sorted({key for key, _ in entities}):
            table = self._table(self._identities[key])
            ids = pa.array(sorted(id_ for of, id_ in entities if of == key), pa.string())
            found.update({(key, id_): table.show(three) for id_, three in table.images(ids).items()})
        return found

    def _table(self, identity: str) -> TableMerge:
        if identity not in self._tables:
            self._tables[identity] = self._make_table(identity)
        return self._tables[identity]

    def _make_table(self, identity: str) -> TableMerge:
        return TableMerge(self._core, self._sides, identity, self._types[identity])


def _drops(ours: CommitRecord, result: Collection[str]) -> tuple[str, ...]:
    return tuple(entry.key for identity, entry in ours.tables.items() if identity not in result)
