"""Pairs that stored queries find: they are asked about what a merge would make, and the pairs answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import ResourceLimit
from omnigraph.graph.entity.stored import EntityAddress, StoredEntity, find_entity
from omnigraph.graph.internals import FindPairs
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.merge.answers.resolutions import Resolution, Resolutions, Take
from omnigraph.graph.merge.conflicts import ConflictKind, MergeConflict
from omnigraph.graph.merge.duplicates.rules import DuplicateRule
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.opening import Core
from omnigraph.graph.snapshot import Snapshot

MOST_PAIRS = 1_000
"""So many of one rule are looked at in one merge."""


@dataclass(frozen=True)
class Pairs:
    """What became of the pairs of stored queries."""

    answers: tuple[Resolution, ...] = ()
    """What rules have answered, as if somebody had named each pair."""
    conflicts: tuple[MergeConflict, ...] = ()
    """What nobody has answered."""


@dataclass(frozen=True)
class PairFinder:
    """The stored queries that find one thing under two ids in one merge."""

    core: Core
    sides: Sides
    rules: Sequence[DuplicateRule]
    answers: Resolutions
    find: FindPairs

    def look(self, result: CommitRecord, branch: str) -> Pairs:
        """Ask the rules about the result of the merge, and answer what can be answered."""
        merged, target = (Snapshot(self.core, record, branch) for record in (result, self.sides.ours))
        found: list[Resolution] = []
        left: list[MergeConflict] = []
        for rule in self.rules:
            into: dict[str, str] = {}
            for conflict in self._list_pairs(rule, merged, target, result):
                answer = self.answers.answer(conflict)
                if answer is None:
                    left.append(self.answers.describe_left(conflict))
                elif answer.take is Take.SAME and answer.entity_id is None:
                    gone, kept = (_end(into, id_) for id_ in conflict.entities)
                    if gone != kept:
                        into[gone] = kept
                        found.append(_name(answer, rule, gone, kept))
        return Pairs(tuple(found), tuple(left))

    def _list_pairs(
        self, rule: DuplicateRule, merged: Snapshot, target: Snapshot, result: CommitRecord
    ) -> Iterator[MergeConflict]:
        """Yield pairs of nodes that are there, of which the merge brings at least one; each pair once."""
        assert rule.query is not None
        identity = table_identity(rule.table(merged.catalog))
        seen: set[frozenset[str]] = set()
        for pair in self.find(merged, target, rule.query):
            if pair[0] == pair[1] or frozenset(pair) in seen:
                continue
            seen.add(frozenset(pair))
            if len(seen) > MOST_PAIRS:
                raise ResourceLimit(
                    f"stored query {rule.query!r} finds more than {MOST_PAIRS} pairs that may be the same: "
                    "let it find fewer",
                    resource="same_pairs",
                    limit=MOST_PAIRS,
                    actual=len(seen),
                )
            addresses = [EntityAddress(identity, id_) for id_ in pair]
            if not any(map(self._is_brought, addresses)):
                continue
            stored = [find_entity(self.core, result, address) for address in addresses]
            if all(stored):
                ranked = sorted(
                    zip(map(self._rank, addresses), pair, stored, strict=True), key=lambda at: at[:2]
                )
                yield _tell(rule, *((id_, entity) for _, id_, entity in ranked))

    def _is_brought(self, address: EntityAddress) -> bool:
        base, theirs = (find_entity(self.core, at, address) for at in (self.sides.base, self.sides.theirs))
        if base is None or theirs is None:
            return theirs is not None
        return bool(theirs.list_changed(base))

    def _rank(self, address: EntityAddress) -> int:
        """Return what stays: what the base has, before what is only on the target, before the rest."""
        for rank, side in enumerate((self.sides.base, self.sides.ours)):
            if find_entity(self.core, side, address) is not None:
                return rank
        return 2


def _tell(rule: DuplicateRule, kept: tuple[str, Any], gone: tuple[str, Any]) -> MergeConflict:
    stays, goes = (_image(entity) for _, entity in (kept, gone))
    return MergeConflict(
        ConflictKind.POSSIBLE_DUPLICATE.value,
        "node",
        rule.type_name,
        gone[0],
        f"node {rule.type_name} '{gone[0]}' may be the same as '{kept[0]}': "
        f"stored query {rule.query!r} says so",
        ours=stays,
        theirs=goes,
        entities=(gone[0], kept[0]),
    )


def _image(entity: StoredEntity) -> Any:
    return {"properties": entity.image["properties"]}


def _name(rule_answer: Resolution, rule: DuplicateRule, gone: str, kept: str) -> Resolution:
    return Resolution(
        Take.SAME,
        ConflictKind.POSSIBLE_DUPLICATE.value,
        "node",
        rule.type_name,
        gone,
        rule_answer.image,
        same_as=kept,
        values=rule_answer.values,
    )


def _end(into: dict[str, str], id_: str) -> str:
    while id_ in into:
        id_ = into[id_]
    return id_
