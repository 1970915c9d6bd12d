"""Combining duplicates in a merge: candidates are told as conflicts, answers carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.base.errors import BadInput, ResourceLimit
from omnigraph.compiler.catalog.model import EDGE_ENDS, NodeType
from omnigraph.graph.entity.combined_pairs import CombinedPair
from omnigraph.graph.merge.answers.custom_row import custom_row
from omnigraph.graph.merge.answers.resolutions import KeptValues, Resolution, Take
from omnigraph.graph.merge.choices import Choices
from omnigraph.graph.merge.classify import Row
from omnigraph.graph.merge.conflicts import ConflictKind, MergeConflict, image_of
from omnigraph.graph.merge.duplicates.candidates import Candidate, find_candidates
from omnigraph.graph.merge.duplicates.move_edges import ChangedAt, EdgeMover
from omnigraph.graph.merge.duplicates.rules import DuplicateRule, NodeCombination
from omnigraph.graph.merge.duplicates.values import combine_rows
from omnigraph.graph.merge.tables import Choice
from omnigraph.graph.write.integrity.delta import Deltas
from omnigraph.graph.write.integrity.stored import StoredData

MAX_COMBINED_NODES = 1_000
"""So many nodes go into others in one commit; its record names them."""


@dataclass
class DuplicateNodes:
    """The duplicates among the nodes of a merge: found, asked about, and combined where an answer says so."""

    choices: Choices
    stored: StoredData
    rules: Sequence[DuplicateRule]
    changed_at: ChangedAt
    combination: NodeCombination = field(default_factory=NodeCombination)

    @property
    def is_asked_for(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.rules or self.choices.answers.combining)

    def settle(self, deltas: Deltas) -> list[MergeConflict]:
        """Carry out what is answered, on the merged rows; return what is not."""
        pairs: dict[tuple[str, str], tuple[Candidate, Resolution]] = {}
        left: list[MergeConflict] = []
        for candidate, conflict in self._list():
            answer = self.choices.answers.answer(conflict)
            if answer is None or (answer.take is Take.SAME and not conflict.entities[1:]):
                left.append(self.choices.answers.describe_left(conflict))
            elif answer.take is Take.SAME:
                _take_in(pairs, candidate, answer)
        if left:
            return left
        if len(pairs) > MAX_COMBINED_NODES:
            raise ResourceLimit(
                f"{len(pairs)} nodes would go into others in one commit, the limit is {MAX_COMBINED_NODES}: "
                "do it in several",
                resource="combined_nodes",
                limit=MAX_COMBINED_NODES,
                actual=len(pairs),
            )
        for identity in sorted({candidate.identity for candidate, _ in pairs.values()}):
            self._combine(identity, [pair for pair in pairs.values() if pair[0].identity == identity], deltas)
        return []

    def _list(self) -> Iterable[tuple[Candidate, MergeConflict]]:
        """Yield what is named and what the rules find, each pair once; what is gone already is left out."""
        seen: set[tuple[str, frozenset[str]]] = set()
        for candidate in [*self._list_named(), *self._list_found()]:
            pair = candidate.identity, frozenset((candidate.gone, candidate.kept))
            if candidate.on and pair in seen:
                continue
            seen.add(pair)
            rows = self.choices.look_up(candidate.identity, (candidate.gone, candidate.kept))
            gone, kept = (_row(rows, id_) for id_ in (candidate.gone, candidate.kept))
            if gone is not None:
                yield candidate, self._conflict(candidate, gone, kept)

    def _list_named(self) -> Iterable[Candidate]:
        for answer in self.choices.answers.combining:
            declared = self.choices.catalog.node(answer.type_name)
            if declared is None:
                raise BadInput(
                    f"a resolution names node {answer.type_name}, which is not in the schema",
                    type=answer.type_name,
                )
            assert answer.entity_id is not None
            assert answer.same_as is not None
            identity = self.choices.identities[declared.table_key]
            yield Candidate(identity, declared.name, answer.entity_id, answer.same_as)

    def _list_found(self) -> Iterable[Candidate]:
        for rule in self.rules:
            yield from find_candidates(rule, self.choices, self.stored)

    def _conflict(self, found: Candidate, gone: Row, kept: Row | None) -> MergeConflict:
        type_ = self._node(found.identity)
        name = f"node {type_.name} '{found.gone}'"
        if kept is None:
            text = f"{name} is to go into '{found.kept}', which is not there"
            return MergeConflict(ConflictKind.POSSIBLE_DUPLICATE.value, "node", type_.name, found.gone, text)
        why = f": they have the same {', '.join(found.on)}" if found.on else ""
        return MergeConflict(
            ConflictKind.POSSIBLE_DUPLICATE.value,
            "node",
            type_.name,
            found.gone,
            f"{name} may be the same as '{found.kept}'{why}",
            ours=image_of(type_, kept),
            theirs=image_of(type_, gone),
            properties=found.on,
            entities=(found.gone, found.kept),
        )

    def _combine(self, identity: str, pairs: Sequence[tuple[Candidate, Resolution]], deltas: Deltas) -> None:
        """Combine the duplicates of one type, and move their edges."""
        type_ = self._node(identity)
        into = _roots({candidate.gone: candidate.kept for candidate, _ in pairs}, type_)
        rows = self.choices.look_up(identity, {*into, *into.values()})
        made = {id_: dict(rows[id_].row or {}) for id_ in dict.fromkeys(into.values())}
        newest = {id_: self.changed_at(identity, id_) for id_ in made} if _asks_newest(pairs) else {}
        for candidate, answer in pairs:
            kept, gone = into[candidate.gone], rows[candidate.gone].row
            assert gone is not None
            at = self.changed_at(identity, candidate.gone) if answer.values is KeptValues.NEWEST else 0
            given = frozenset((answer.image or {}).get("properties", {}))
            is_newer = at > newest.get(kept, 0)
            made[kept] = combine_rows(type_, made[kept], gone, answer.values, is_newer, given)
            newest[kept] = max(at, newest.get(kept, 0))
            if answer.image is not None:
                made[kept] = custom_row(type_, answer.image, made[kept]) or {}
            self.choices.put(identity, candidate.gone, rows[candidate.gone].images, None)
        for id_, row in made.items():
            self.choices.put(identity, id_, rows[id_].images, row)
        noted = tuple(CombinedPair(identity, gone, into[gone]) for gone in into)
        values = {candidate.gone: answer.values for candidate, answer in pairs}
        mover = EdgeMover(self.choices, self.stored, deltas, self.changed_at, into, values)
        for edge in self.choices.catalog.edges:
            ends = [
                end for end, of in zip(EDGE_ENDS, (edge.source, edge.target), strict=True) if of == type_.name
            ]
            if ends:
                mover.move(edge, ends)
        noted = tuple(CombinedPair(identity, gone, into[gone]) for gone in into)
        self.combination = self.combination.add(noted, mover.moved, mover.folded, mover.loops)

    def _node(self, identity: str) -> NodeType:
        type_ = self.choices.table(identity).type
        assert isinstance(type_, NodeType)
        return type_


def _take_in(
    pairs: dict[tuple[str, str], tuple[Candidate, Resolution]], candidate: Candidate, answer: Resolution
) -> None:
    """Add a pair; what is found to be the same as two others makes these one, too."""
    known = pairs.get((candidate.identity, candidate.gone))
    if known is None:
        pairs[candidate.identity, candidate.gone] = (candidate, answer)
        return
    stays, goes = known[0].kept, candidate.kept
    while (candidate.identity, stays) in pairs:
        stays = pairs[candidate.identity, stays][0].kept
    while (candidate.identity, goes) in pairs:
        goes = pairs[candidate.identity, goes][0].kept
    if stays != goes:
        pairs[candidate.identity, goes] = (replace(candidate, gone=goes, kept=stays), answer)


def _row(rows: Mapping[str, Choice], id_: str) -> Row | None:
    return rows[id_].row if id_ in rows else None


def _asks_newest(pairs: Sequence[tuple[Candidate, Resolution]]) -> bool:
    return any(answer.values is KeptValues.NEWEST for _, answer in pairs)


def _roots(same_as: Mapping[str, str], type_: NodeType) -> dict[str, str]:
    """Return what each id goes into in the end, where what stays goes itself into another."""
    found = {}
    for id_ in same_as:
        seen, at = {id_}, same_as[id_]
        while at in same_as:
            if at in seen:
                raise BadInput(
                    f"resolutions say in a circle what {type_.name} {id_!r} is the same as: one must stay",
                    type=type_.name,
                )
            seen.add(at)
            at = same_as[at]
        found[id_] = at
    return found
