"""What follows from a history by counting alone: what must be in the graph, what may be, what must not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from math import inf

from jepsen.history import FAIL, OK, History, Op, with_retries
from jepsen.schemas import FIRST

MARKING = ("append", "note", "transfer", "load", "claim", "ticket", "person", "edge")
"""Operations that leave rows with their name, which stay."""
READING = ("read", "travel")

Masks = Mapping[str, int]
"""By client: a number with a bit for each operation."""


class Model:
    """A history with its operations sorted by what they are about."""

    def __init__(self, history: History) -> None:
        self.raw = history
        """What was logged, try by try."""
        self.history = History(tuple(with_retries(history.ops)), history.faults)
        self._heirs: dict[str, set[str]] = {}

    @cached_property
    def marks(self) -> list[Op]:
        """The operations that leave rows."""
        return self.history.of(*MARKING)

    @cached_property
    def drops_commits(self) -> bool:
        """Say whether a cleanup may have dropped commits."""
        return any(
            op.facts["keep"] is not None or op.facts["age"] is not None for op in self.history.of("cleanup")
        )

    def on(self, branch: str) -> list[Op]:
        """Return the operations that leave rows on a branch."""
        return self._on.get(branch, [])

    @cached_property
    def _on(self) -> dict[str, list[Op]]:
        found: dict[str, list[Op]] = {}
        for op in self.marks:
            found.setdefault(op.facts["branch"], []).append(op)
        return found

    @cached_property
    def _deletes(self) -> dict[str, list[Op]]:
        found: dict[str, list[Op]] = {}
        for op in self.history.of("delete_person"):
            if op.may_have_happened:
                found.setdefault(op.facts["person"], []).append(op)
        return found

    def deletes_of(self, op: Op) -> list[Op]:
        """Return the deletes that may have taken the rows of an operation: a person, or an edge with it."""
        if op.kind == "person":
            return self._deletes.get(op.name, [])
        if op.kind == "edge":
            return self._deletes.get(op.facts["source"], []) + self._deletes.get(op.facts["target"], [])
        return []

    def may_be_deleted(self, op: Op, before: float) -> bool:
        """Say whether the rows of an operation may have been deleted before a moment."""
        return any(delete.began < before for delete in self.deletes_of(op))

    def deleted_people(self) -> Iterator[tuple[Op, Op]]:
        """Return people who must be gone, each with the delete that was acknowledged."""
        for name, deletes in self._deletes.items():
            person = self.history.by_name[name]
            for delete in deletes:
                was_there = person.ended < delete.began or bool(delete.answer.get("affected"))
                if delete.outcome == OK and was_there:
                    yield person, delete

    @cached_property
    def makers(self) -> dict[str, list[Op]]:
        """By branch: what may have made it."""
        found: dict[str, list[Op]] = {}
        for op in self.history.of("create_branch", "load"):
            if op.may_have_happened and op.facts["origin"] is not None:
                found.setdefault(op.facts["name"] if op.kind != "load" else op.facts["branch"], []).append(op)
        return found

    @cached_property
    def enders(self) -> dict[str, list[Op]]:
        """By branch: what may have deleted it."""
        found: dict[str, list[Op]] = {}
        for op in self.history.of("delete_branch", "merge"):
            if op.kind == "merge" and not (op.facts["delete"] and op.answer.get("deleted", op.outcome != OK)):
                continue
            if op.may_have_happened:
                found.setdefault(op.facts["name"], []).append(op)
        return found

    def has_surely_made(self, op: Op, branch: str) -> bool:
        """Say whether an operation has made a branch: a load may also have found one that was there."""
        if op.outcome != OK or op.kind == "create_branch":
            return op.outcome == OK
        for other in self.makers[branch]:
            is_over = other.began > op.ended or any(
                end.outcome == OK and end.began > other.ended and end.ended < op.began
                for end in self.enders.get(branch, [])
            )
            if other is not op and not is_over:
                return False
        return True

    @cached_property
    def merges(self) -> dict[str, list[Op]]:
        """By branch: what may have merged it into main."""
        found: dict[str, list[Op]] = {}
        for op in self.history.of("merge"):
            if op.may_have_happened:
                found.setdefault(op.facts["name"], []).append(op)
        return found

    def heirs(self, branch: str) -> set[str]:
        """Return the branches that may have begun with what a branch had, and itself."""
        if branch not in self._heirs:
            found, new = {branch}, {branch}
            while new:
                new = {
                    name for name, ops in self.makers.items() for op in ops if op.facts["origin"] in new
                } - found
                found |= new
            self._heirs[branch] = found
        return self._heirs[branch]

    def may_have_ended(self, op: Op, before: float) -> bool:
        """Say whether the branch that an operation wrote to may have been deleted since, before a moment."""
        enders = self.enders.get(op.facts["branch"], [])
        return any(end.ended > op.began and end.began < before for end in enders)

    def must_be_on_branch(self, op: Op) -> bool:
        """Say whether rows that were written to a branch must be on the branch of that name at the end."""
        return op.outcome == OK and not self.may_have_ended(op, inf)

    def must_be_merged(self, op: Op) -> Op | None:
        """Return a merge that must have brought the rows of an operation from its branch to main."""
        name = op.facts["branch"]
        for merge in self.merges.get(name, []):
            if not (op.outcome == merge.outcome == OK and merge.began > op.ended):
                continue
            if not any(
                end is not merge and end.ended > op.began and end.began < merge.ended
                for end in self.enders.get(name, [])
            ):
                return merge
        return None

    def may_be_merged(self, op: Op) -> bool:
        """Say whether a merge may have brought the rows of an operation from its branch to main."""
        heirs = self.heirs(op.facts["branch"])
        return any(merge.ended > op.began for name in heirs for merge in self.merges.get(name, []))

    def may_be_schema(self, name: str, began: float = inf, ended: float = inf) -> bool:
        """Say whether a read between two moments, by default at the end, may have seen a schema."""
        applied = [op for op in self.history.of("schema") if op.may_have_happened]
        writes = [(op.facts["schema"], op.began, op.ended) for op in applied]
        others = [
            op for op in applied if op.outcome == OK and op.facts["schema"] != name and op.ended < began
        ]
        for text, since, until in [(FIRST, -inf, -inf), *writes]:
            if text == name and since < ended and not any(other.began > until for other in others):
                return True
        return False


def mask_of(ops: Iterable[Op]) -> dict[str, int]:
    """Return the masks with the bits of some operations."""
    masks: dict[str, int] = {}
    for op in ops:
        masks[op.client] = masks.get(op.client, 0) | 1 << op.number
    return masks


def names_in(masks: Masks) -> Iterator[str]:
    """Return the names of the operations whose bits are set."""
    for client, mask in masks.items():
        for number, bit in enumerate(reversed(bin(mask)[2:])):
            if bit == "1":
                yield f"{client}-{number}"


def without(one: Masks, other: Masks) -> dict[str, int]:
    """Return the bits of one that the other lacks."""
    return {client: mask & ~other.get(client, 0) for client, mask in one.items()}


def both(one: Masks, other: Masks) -> dict[str, int]:
    """Return the bits that both have."""
    return {client: mask & other.get(client, 0) for client, mask in one.items()}


def joined(one: Masks, other: Masks) -> dict[str, int]:
    """Return the bits that either has."""
    return {client: one.get(client, 0) | other.get(client, 0) for client in {*one, *other}}


def failed(ops: Iterable[Op]) -> list[Op]:
    """Return the operations that the engine says did not happen."""
    return [op for op in ops if op.outcome == FAIL]


def masks_of_names(names: Iterable[str]) -> Masks:
    """Return the masks of some names of operations."""
    masks: dict[str, int] = {}
    for name in names:
        client, _, number = name.rpartition("-")
        masks[client] = masks.get(client, 0) | 1 << int(number)
    return masks
