"""Answers to conflicts, one by one or by rule: which conflicts they are for, and which of them counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from omnigraph.compiler.catalog.combine.clashes import SIDES
from omnigraph.graph.merge.conflicts import ConflictKind, Image, MergeConflict, without_properties
from omnigraph.graph.merge.equality import same

ANY = "*"
SCHEMA = "schema"
QUERY = "query"
DEFINITIONS = (SCHEMA, QUERY)
"""What can be in conflict beside nodes and edges."""
_STALE = " (an answer was given for other images than these, and was not used)"
_USELESS = " (the answer that was given does not settle this)"
_NOBODYS = " (an answer cannot settle this, and was not used)"
_CROWD = " (an answer cannot settle this, and was not used: answer for one of its edges by its id)"


class Take(StrEnum):
    """Which image an entity gets."""

    BASE = "base"
    OURS = "ours"
    THEIRS = "theirs"
    CUSTOM = "custom"
    SAME = "same"
    """It is a duplicate of another one, which stays."""
    DIFFERENT = "different"
    """It is not: both stay."""


_ABOUT_DUPLICATES = (Take.SAME, Take.DIFFERENT)


class KeptValues(StrEnum):
    """Whose values a node gets that others are combined into."""

    FILL = "fill"
    """Those of what stays; where it has none, those of what goes."""
    KEEP = "keep"
    """Those of what stays."""
    NEWEST = "newest"
    """Those of what was changed last; where it has none, those of the other."""


@dataclass(frozen=True)
class Resolution:
    """One answer. What it does not name, it is for: without an id it is a rule for many conflicts."""

    take: Take
    kind: str = ANY
    entity_kind: str = ANY
    type_name: str = ANY
    entity_id: str | None = None
    image: Image | None = None
    """The image to take with `custom`; None deletes the entity."""
    seen: Mapping[str, Image | None] | None = None
    """The images that the answer was given for, when it says so."""
    same_as: str | None = None
    """With `same`, the id of what stays."""
    values: KeptValues = KeptValues.FILL

    def is_for(self, conflict: MergeConflict) -> bool:
        """Return whether this answers a conflict."""
        return (
            self.kind in (ANY, conflict.kind)
            and self.entity_kind in (ANY, conflict.entity_kind)
            and self.type_name in (ANY, conflict.type_name)
            and (self.entity_id is None or self.entity_id == conflict.entity_id)
            and (conflict.entity_kind not in DEFINITIONS or self._is_about(conflict))
            and (self.take in _ABOUT_DUPLICATES) is (conflict.kind == ConflictKind.POSSIBLE_DUPLICATE)
            and (self.entity_id is None or self.same_as in (None, *conflict.entities[1:]))
        )

    def _is_about(self, conflict: MergeConflict) -> bool:
        """Return whether this says that it is for schemas, or queries: a rule for entities drops neither."""
        return self.entity_kind == conflict.entity_kind or self.kind == conflict.kind

    @property
    def is_forced(self) -> bool:
        """Whether this names an entity that need not be in conflict by itself to be settled so."""
        is_named = self.entity_id is not None and ANY not in (self.type_name, self.entity_kind)
        return (
            is_named
            and self.kind == ANY
            and self.entity_kind not in DEFINITIONS
            and self.take not in _ABOUT_DUPLICATES
        )

    @property
    def combines_nodes(self) -> bool:
        """Whether this names two entities that become one, whoever has found them."""
        return self.take is Take.SAME and self.entity_id is not None and self.same_as is not None

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """The order in which answers are looked at: those that say more of what they are for come first."""
        return self.entity_id is None, self.kind == ANY, self.seen is None

    def is_stale(self, images: Mapping[str, Image | None], hidden: Set[str]) -> bool:
        """Return whether an image that the answer was given for is no longer what stands there.

        What is hidden from its giver does not count: the answer may not even ask for it.
        """
        return self.seen is not None and not all(
            same(without_properties(images[side], hidden), without_properties(image, hidden))
            for side, image in self.seen.items()
        )

    def contradicts(self, other: Resolution) -> bool:
        """Return whether another answer for the same entity in the same case asks for something else."""
        return (
            self.entity_id is not None
            and (self.entity_id, self.kind, self.seen) == (other.entity_id, other.kind, other.seen)
            and _overlap(self.entity_kind, other.entity_kind)
            and _overlap(self.type_name, other.type_name)
            and (self.take in _ABOUT_DUPLICATES) is (other.take in _ABOUT_DUPLICATES)
            and (self.take, self.image, self.same_as) != (other.take, other.image, other.same_as)
        )


class Resolutions:
    """All answers: those that say more of what they are for come first; then the first that fits counts."""

    def __init__(
        self, answers: Sequence[Resolution] = (), hidden: Callable[[str, str], Set[str]] | None = None
    ) -> None:
        """Take answers, and what tells the hidden properties of their giver by kind and name of a type."""
        self._answers = sorted(answers, key=lambda answer: answer.rank)
        self._hidden = hidden

    def __bool__(self) -> bool:
        return bool(self._answers)

    def add(self, answers: Sequence[Resolution]) -> Resolutions:
        """Return these answers and others."""
        return Resolutions([*self._answers, *answers], self._hidden)

    def of_whom(self, hidden: Callable[[str, str], Set[str]]) -> Resolutions:
        """Return the answers of somebody who does not see all properties."""
        return Resolutions(self._answers, hidden)

    def is_stale(
        self, answer: Resolution, kind: str, type_name: str, images: Mapping[str, Image | None]
    ) -> bool:
        """Return whether an answer was given for other images of an entity of a type."""
        hidden = frozenset[str]() if self._hidden is None else self._hidden(kind, type_name)
        return answer.is_stale(images, hidden)

    @property
    def forced(self) -> list[Resolution]:
        """The answers for entities that need not be in conflict by themselves."""
        return [answer for answer in self._answers if answer.is_forced]

    @property
    def combining(self) -> list[Resolution]:
        """The answers that combine two nodes."""
        return [answer for answer in self._answers if answer.combines_nodes]

    def answer(self, conflict: MergeConflict) -> Resolution | None:
        """Return the answer to a conflict, if there is one; where its own is stale, a rule is none."""
        if _is_nobodys(conflict):
            return None
        fitting = [answer for answer in self._answers if answer.is_for(conflict)]
        own = [answer for answer in fitting if answer.entity_id is not None]
        images: dict[str, Image | None] = {side: getattr(conflict, side) for side in SIDES}
        kind, name = conflict.entity_kind, conflict.type_name
        return next(
            (answer for answer in own or fitting if not self.is_stale(answer, kind, name, images)), None
        )

    def describe_left(self, conflict: MergeConflict) -> MergeConflict:
        """Return a conflict that is left, with what became of the answers that were given to it."""
        if not any(answer.is_for(conflict) for answer in self._answers):
            return conflict
        if _is_nobodys(conflict):
            note = _CROWD if conflict.kind == ConflictKind.CARDINALITY_VIOLATION else _NOBODYS
        else:
            note = _STALE if self.answer(conflict) is None else _USELESS
        return replace(conflict, message=conflict.message + note)


def _is_nobodys(conflict: MergeConflict) -> bool:
    return conflict.entity_id is None


def _overlap(one: str, two: str) -> bool:
    return one == two or ANY in (one, two)
