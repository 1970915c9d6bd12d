"""Chains as a cleanup found them, and the lines of first parents that run through them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.base.errors import CorruptState
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import StoredFloor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef

Place = tuple[str, int]
"""A chain's incarnation and a number in it."""


@dataclass(frozen=True)
class ChainView:
    """One chain as it was found."""

    incarnation: str
    branch: str
    fork: CommitRef | None
    live: bool
    records: Mapping[int, CommitRecord]
    """Those that no earlier cleanup has dropped."""
    dropped: Mapping[int, CommitRecord] = field(default_factory=dict)
    """Those that an earlier cleanup has dropped and not yet removed."""
    floor: StoredFloor | None = None
    named: bool = False
    """Whether a name stands for the chain, or the branch may go on in it, though it may have ended."""

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of the records, ascending."""
        return sorted(self.records)

    def has(self, seq: int) -> bool:
        """Return whether a record of this number was found."""
        return seq in self.records or seq in self.dropped

    @property
    def last(self) -> int:
        """The number of the newest record."""
        return self.numbers[-1]

    @property
    def is_closed(self) -> bool:
        """Whether the chain has ended: its branch was deleted, or was rebased and goes on in another."""
        return self.records[self.last].closed


class FirstParentLines:
    """The lines of first parents through chains: each record has at most one that comes before it."""

    def __init__(
        self, chains: Mapping[str, ChainView], gone: Mapping[str, CommitRef | None] | None = None
    ) -> None:
        """Take the chains, and where those were forked of which nothing is left."""
        self.chains, self._gone = chains, gone or {}
        self.children_first = _children_first(chains)
        """Every chain, after all that were forked from it."""

    def start(self, ref: CommitRef | None) -> Place | None:
        """Return the place of a commit, or of the nearest one before it that is left."""
        while ref is not None:
            chain = self.chains.get(ref.incarnation)
            upto = bisect_right(chain.numbers, ref.seq) if chain is not None else 0
            if chain is not None and upto:
                return chain.incarnation, chain.numbers[upto - 1]
            ref = chain.fork if chain is not None else self._gone.get(ref.incarnation)
        return None

    def record(self, place: Place | None) -> CommitRecord | None:
        """Return the record in a place."""
        return self.chains[place[0]].records[place[1]] if place is not None else None

    def find(self, place: Place) -> CommitRecord | None:
        """Return the record in a place, when it is held."""
        chain = self.chains.get(place[0])
        return chain.records.get(place[1]) if chain else None

    def walk(self, ref: CommitRef | None) -> Iterator[CommitRecord]:
        """Yield what is left of the first-parent history of a commit, newest first, itself included."""
        while ref is not None and (chain := self.chains.get(ref.incarnation)) is not None:
            numbers = chain.numbers
            for index in range(bisect_right(numbers, ref.seq) - 1, -1, -1):
                yield chain.records[numbers[index]]
            ref = chain.fork


def _children_first(chains: Mapping[str, ChainView]) -> list[ChainView]:
    waiting = dict.fromkeys(chains, 0)
    for chain in chains.values():
        if chain.fork is not None and chain.fork.incarnation in waiting:
            waiting[chain.fork.incarnation] += 1
    ready = [incarnation for incarnation, children in waiting.items() if not children]
    found: list[ChainView] = []
    while ready:
        chain = chains[ready.pop()]
        found.append(chain)
        if chain.fork is not None and chain.fork.incarnation in waiting:
            waiting[chain.fork.incarnation] -= 1
            if not waiting[chain.fork.incarnation]:
                ready.append(chain.fork.incarnation)
    if len(found) < len(chains):
        lost = next(chains[incarnation] for incarnation, children in waiting.items() if children)
        raise CorruptState(
            f"branch {lost.branch!r} was forked from itself: run `omnigraph repair`",
            path=layout.record_path(lost.incarnation, lost.last),
        )
    return found
