"""`MergeWork`: a merge, revert or cherry-pick as work for `commit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from functools import partial
from typing import Any

from omnigraph.base.errors import ReadOnly, ResourceLimit
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.merge_base import Outcome, outcome_of
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.merge.causes import ConflictCauses
from omnigraph.graph.merge.conflicts import MergeConflict, as_error, in_order
from omnigraph.graph.merge.duplicates.pairs import PairFinder
from omnigraph.graph.merge.images import storable
from omnigraph.graph.merge.plan import (
    MergePlan,
    Options,
    fast_forward,
    onto_base,
    plan_merge,
)
from omnigraph.graph.merge.schemas.decide import put_schema
from omnigraph.graph.merge.schemas.stage import CombinedTables, as_it_is
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.merge.sight import ConflictSight
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.fence import swept_error
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.stage_deltas import StagedRows, stage_deltas
from omnigraph.graph.write.unnamed import commit_in_line
from omnigraph.graph.write.work import CommitRequest, WriteGuard
from omnigraph.graph.write.write_state import WriteBase

CHANGES = ("inserted", "updated", "deleted")
"""What a merge does to entities, as its counts call it."""
_MOST_LOOKS = 8
Choose = Callable[[CommitRecord], Sides]
"""From the head of the target to the three commits of the merge."""


class MergeWork:
    """Work for `commit`: what one side has done since a base, brought to the branch that is written.

    What is brought over is fixed when the work begins. A target that moves meanwhile is looked at anew, from
    the choice of the base to the last check, so nothing is lost and nothing unchecked gets in.
    """

    commit_class = CommitClass.LOGICAL
    repeatable = True

    def __init__(
        self,
        core: Core,
        operation: str,
        source: str,
        target: str,
        capture: Callable[[], Choose],
        options: Options,
        two_parents: bool = True,
        guard: WriteGuard | None = None,
    ) -> None:
        """Take the names for messages, and what captures the source: called once, on a healed graph."""
        self.operation = operation
        self._core, self._options, self._two_parents = core, options, two_parents
        self._source, self._target = source, target
        self._capture = capture
        self._guard = guard
        self._choose: Choose | None = None
        self._staged = StagedRows()
        self.plan: MergePlan | None = None

    def stage(self, base: WriteBase) -> None:
        """Fix what is brought over."""
        if self._choose is None:
            self._choose = self._capture()
            hit(Failpoint.MERGE_AFTER_CAPTURE)

    def plan_on(self, base: WriteBase) -> MergePlan:
        """Return what the work would do to a state of the target; nothing is written."""
        assert self._choose is not None
        sides = self._choose(base.state.head)
        if self._guard is None:
            return self._plan_with_queries(sides, base, self._options)
        self._guard.check(sides.base, sides.theirs)
        for undone in self._options.undone:
            self._guard.check(undone.before, undone.record)
        sight = ConflictSight(self._core, self._guard, sides)
        sight.check_rules(self._options.by_values)
        options = replace(self._options, answers=self._options.answers.of_whom(sight.hidden_names))
        plan = self._plan_with_queries(sides, base, options)
        self._guard.require_sight((sides.base, sides.ours, sides.theirs), _list_entities(plan.conflicts))
        return replace(plan, conflicts=sight.cut(plan.conflicts)) if plan.conflicts else plan

    def _plan_with_queries(self, sides: Sides, base: WriteBase, options: Options) -> MergePlan:
        """Return a plan in which the pairs of stored queries are answered, or with those that are not."""
        for _ in range(_MOST_LOOKS):
            plan = self._plan(sides, base, options)
            if not options.queries or plan.conflicts or plan.outcome is Outcome.UP_TO_DATE:
                return plan
            if options.find_pairs is None:
                raise ReadOnly(
                    "a stored query among the rules of same_as is asked about the merged rows, which have to "
                    "be staged: open the graph with read_only=False"
                )
            finder = PairFinder(self._core, plan.sides, options.queries, options.answers, options.find_pairs)
            pairs = finder.look(self._preview(sides, base, plan, options), base.state.ref.name)
            if pairs.conflicts or not pairs.answers:
                return replace(plan, conflicts=in_order(pairs.conflicts)) if pairs.conflicts else plan
            options = replace(options, answers=options.answers.add(pairs.answers))
        raise ResourceLimit(
            f"the stored queries of same_as find more at each of {_MOST_LOOKS} looks: name what is the same",
            resource="same_looks",
            limit=_MOST_LOOKS,
            actual=_MOST_LOOKS,
        )

    def _preview(self, sides: Sides, base: WriteBase, plan: MergePlan, options: Options) -> CommitRecord:
        """Return what the merge would make; what is staged for that is removed by the next cleanup."""
        if plan.outcome is Outcome.FAST_FORWARD:
            return plan.sides.theirs
        look = MergeWork(
            self._core,
            self.operation,
            self._source,
            self._target,
            lambda: lambda ours: sides,
            replace(options, same_as=options.by_values),
            self._two_parents,
        )
        request = CommitRequest(base.state.ref.name, None, incarnation=base.state.ref.incarnation)
        truth, settings = self._core.truth, self._core.settings
        line = commit_in_line(truth, settings, [(request, look)], base.state, {}, put=False)
        return line.records[-1] if line.records else base.state.head

    def explain(self, plan: MergePlan) -> MergePlan:
        """Return a plan whose conflicts tell who has made the sides what they are, and why."""
        if not plan.conflicts:
            return plan
        causes = ConflictCauses(self._core, plan.sides, self._options.access, measures=self._guard is None)
        return replace(plan, conflicts=causes.explain(plan.conflicts))

    def _plan(self, sides: Sides, base: WriteBase, options: Options) -> MergePlan:
        outcome = outcome_of(sides.base, sides.ours, sides.theirs) if self._two_parents else Outcome.MERGED
        if outcome is Outcome.UP_TO_DATE:
            return MergePlan(sides, outcome)
        if outcome is Outcome.FAST_FORWARD and not options.looks_at_entities:
            return fast_forward(self._core, sides)
        return plan_merge(self._core, sides, options, base)

    def answer(self) -> Mapping[str, Any]:
        """Return what kind of merge it was, from which base, and what it changed."""
        assert self.plan is not None
        counts = {key: astuple(count) for key, count in self.plan.counts.items()}
        one = self.plan.combination
        return {
            "outcome": self.plan.outcome.value,
            "base": self.plan.sides.base.commit,
            "counts": {key: list(numbers) for key, numbers in counts.items()},
            **({"edges": list(one.edges)} if one.pairs else {}),
        }

    def metadata(self) -> Mapping[str, str]:
        """Return what the commit of a merge of branches notes: its kind, and how much it changed."""
        if self.plan is None:
            return {}
        if not self._two_parents:
            return self.plan.combination.note()
        counts = self.plan.counts.values()
        noted = {name: sum(getattr(count, name) for count in counts) for name in CHANGES}
        return {
            "merge.outcome": self.plan.outcome.value,
            **{f"merge.{name}": str(number) for name, number in noted.items()},
            **self.plan.combination.note(),
        }

    def apply(self, base: WriteBase) -> None:
        """Plan; refuse conflicts; stage merged rows and take over what one side alone has changed."""
        self.plan = plan = self.plan_on(base)
        if plan.conflicts:
            if not self._core.truth.chains.holds(plan.sides.theirs.ref):
                # The source went, and with it perhaps what both began from: these are not conflicts then.
                raise swept_error(base.state.ref.name)
            raise as_error(self._source, self._target, self.explain(plan).conflicts)
        hit(Failpoint.MERGE_AFTER_CHECKS)
        if plan.outcome is Outcome.UP_TO_DATE:
            return
        sides = plan.sides
        if sides.on_theirs or sides.combined_schema is not None or self._options.queries:
            # What was checked is all that the target has said: whatever it says next must be checked too.
            for entry in sides.ours.tables.values():
                base.rely_on(entry.key)
        if self._options.queries:
            base.relies_on_queries = True
        for key in plan.drops:
            base.drop(key)
        base.sources = (sides.theirs.ref,)
        if sides.combined_schema is None:
            for identity in plan.takes:
                theirs = sides.theirs.tables[identity]
                base.adopt(identity, as_it_is(theirs, sides.onto.tables.get(identity, theirs).key))
            self._stage_rows(base, plan)
        else:
            self._combine_tables(base, plan, sides.combined_schema.catalog)
        base.schema = put_schema(sides, self._core.schemas)
        if plan.queries is not None:
            base.queries = self._core.schemas.put_queries(plan.queries)
        if self._two_parents:
            base.merged_parent = sides.theirs.ref

    def _stage_rows(self, base: WriteBase, plan: MergePlan) -> None:
        deltas = {key: _storable(delta) for key, delta in plan.deltas.items()}
        onto = onto_base(self._core, plan.sides, base)
        side_by_side([partial(self._stage, onto, key, deltas[key], plan) for key in sorted(deltas)])
        if onto is not base:
            for identity, written in onto.writes().items():
                base.adopt(identity, replace(written, elsewhere=True))

    def _combine_tables(self, base: WriteBase, plan: MergePlan, result: Catalog) -> None:
        """Bring the tables of both sides to a schema that neither has, and stage the merged rows there."""
        ours, theirs = (
            self._core.schemas.get(side.schema).catalog for side in (plan.sides.ours, plan.sides.theirs)
        )
        deltas = {key: _storable(delta) for key, delta in plan.deltas.items()}
        beside = onto_base(self._core, replace(plan.sides, on_theirs=True), base)

        def stage_rows(onto: WriteBase, key: str, new_key: str) -> None:
            if new_key in deltas:
                self._stage(onto, key, deltas[new_key], plan)

        CombinedTables(result, ours, theirs).stage(base, beside, frozenset(plan.takes), stage_rows)

    def _stage(self, onto: WriteBase, key: str, delta: TableDelta, plan: MergePlan) -> None:
        table, standing = onto.table(key), plan.standing.get(delta.table.table_key)
        if standing is not None:
            rows = self._staged.of(delta, table) if delta.rows.num_rows else None
            if table.replace_rows(rows, standing.ids, standing.rows):
                hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)
                return
        stage_deltas(onto, {key: delta}, frozenset(), self._staged)


def _storable(delta: TableDelta) -> TableDelta:
    return replace(delta, rows=storable(delta.table, delta.rows))


def _list_entities(conflicts: Iterable[MergeConflict]) -> Iterator[tuple[str, str]]:
    """Yield the table key and id of every entity that conflicts show or name."""
    for item in conflicts:
        ids = item.entities if item.entity_id is None else (item.entity_id, *item.entities)
        for id_ in ids:
            yield f"{item.entity_kind}:{item.type_name}", id_
