"""What later merges start from: for each branch, the newest commits of the others that came into it.

Merges are few beside commits, so history is reduced to them. A set of merges is one whole number, a bit for
each merge that counts, so a step takes all of them at once: from the oldest to the newest, which merges each
one has behind it; for each head, the last of every branch among them; and back again, the ways that lead
there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnigraph.graph.maintenance.first_parent_lines import FirstParentLines, Place
from omnigraph.graph.manifest.record import CommitRef

_BLOCK = 4_096
"""Merges in one set; more are taken in turns, so that memory grows with the number of merges only."""


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge, and where the walk goes on from it: along its own line, and along what it brought in."""

    place: Place
    source: CommitRef
    below: int | None
    aside: int | None


def joints(lines: FirstParentLines, heads: Iterable[Place]) -> set[Place]:
    """Return what a later merge into or out of a branch starts from, for all branches.

    That is, for each head and each branch that others may share, the newest commit of the branch that came
    into the head's history, and the merges that it came through: as far as possible along first parents.
    """
    graph = _Merges(lines)
    tips = {tip for chain, seq in heads if (tip := graph.newest(CommitRef("", chain, seq))) is not None}
    order = graph.ancestors_first(tips)
    found: set[Place] = set()
    for block in _blocks(graph, order):
        found |= _joints(graph, order, tips, block)
    return found


class _Merges:
    """All merges that are left, by number."""

    def __init__(self, lines: FirstParentLines) -> None:
        self._lines = lines
        self._numbers = {
            chain.incarnation: [seq for seq in chain.numbers if chain.records[seq].merged_parent is not None]
            for chain in lines.chains.values()
        }
        places = [(chain, seq) for chain, numbers in self._numbers.items() for seq in numbers]
        self._index = {place: number for number, place in enumerate(places)}
        self._before: dict[str, int | None] = {}
        for chain in reversed(lines.children_first):
            self._before[chain.incarnation] = self.newest(chain.fork)
        self.merges = [self._merge(place) for place in places]
        self._targets: dict[str, set[str]] = {}
        for merge in self.merges:
            self._targets.setdefault(merge.source.incarnation, set()).add(merge.place[0])

    def newest(self, ref: CommitRef | None) -> int | None:
        """Return the newest merge on the line of a commit, itself included."""
        if ref is None or ref.incarnation not in self._numbers:
            return None
        numbers = self._numbers[ref.incarnation]
        upto = bisect_right(numbers, ref.seq)
        return self._index[ref.incarnation, numbers[upto - 1]] if upto else self._before[ref.incarnation]

    def is_shared(self, source: CommitRef) -> bool:
        """Return whether a later merge may start from the commits of a chain that have come into others.

        That is so while its branch lives; and afterwards when they came into several chains. What came into
        one alone lies behind the merge there for whoever has it.
        """
        chain = self._lines.chains.get(source.incarnation)
        return chain is not None and (chain.live or len(self._targets[source.incarnation]) > 1)

    def ancestors_first(self, tips: Iterable[int]) -> list[int]:
        """Return the merges behind some, each after all that lie behind it."""
        done: dict[int, bool] = {}
        order: list[int] = []
        waiting = list(tips)
        while waiting:
            number = waiting[-1]
            if number not in done:
                done[number] = False
                merge = self.merges[number]
                behind = (item for item in (merge.below, merge.aside) if item is not None)
                waiting += [item for item in behind if item not in done]
                continue
            waiting.pop()
            if not done[number]:
                done[number] = True
                order.append(number)
        return order

    def _merge(self, place: Place) -> _Merge:
        incarnation, seq = place
        source = self._lines.chains[incarnation].records[seq].merged_parent
        assert source is not None
        below = self.newest(CommitRef("", incarnation, seq - 1))
        return _Merge(place, source, below, self.newest(source))


@dataclass(frozen=True)
class _Block:
    """Some branches, and a bit for each merge of one of their commits, a branch's newest commit highest."""

    bits: Mapping[int, int]
    """By the number of the merge."""
    steps: tuple[tuple[int, int], ...]
    """Shifts, and which bits they may not take across from one branch to the next."""

    @staticmethod
    def of(groups: Sequence[Sequence[int]]) -> _Block:
        """Lay out the bits of groups of merges, of one branch each, in the order of their commits."""
        bits: dict[int, int] = {}
        for merge in (merge for group in groups for merge in group):
            bits[merge] = 1 << len(bits)
        longest = max(len(group) for group in groups)
        shifts = [1 << power for power in range(longest.bit_length())]
        return _Block(bits, tuple((shift, _inside(groups, shift)) for shift in shifts))

    def last(self, merges: int) -> int:
        """Return, of a set of merges, the last one of every branch."""
        filled = merges
        for shift, inside in self.steps:
            filled |= (filled >> shift) & inside
        shift, inside = self.steps[0]
        return merges & ~((filled >> shift) & inside)


def _inside(groups: Sequence[Sequence[int]], shift: int) -> int:
    """Return the places that still belong to the same group so much higher."""
    letters = "".join("1" * max(0, len(group) - shift) + "0" * min(shift, len(group)) for group in groups)
    return int(letters[::-1], 2)


def _blocks(graph: _Merges, order: Sequence[int]) -> Iterator[_Block]:
    groups: dict[str, list[int]] = {}
    # Of several merges of one commit the one that came first counts: most heads have it behind them.
    for number in reversed(order):
        source = graph.merges[number].source
        if graph.is_shared(source):
            groups.setdefault(source.incarnation, []).append(number)
    taken: list[list[int]] = []
    for group in groups.values():
        group.sort(key=lambda number: graph.merges[number].source.seq)
        if taken and sum(map(len, taken)) + len(group) > _BLOCK:
            yield _Block.of(taken)
            taken = []
        taken.append(group)
    if taken:
        yield _Block.of(taken)


def _joints(graph: _Merges, order: Sequence[int], tips: Iterable[int], block: _Block) -> set[Place]:
    behind: dict[int | None, int] = {None: 0}
    for number in order:
        merge = graph.merges[number]
        # A merge that seems to lie behind itself, in a damaged history, is not followed twice.
        behind[number] = block.bits.get(number, 0) | behind.get(merge.below, 0) | behind.get(merge.aside, 0)
    wanted: dict[int | None, int] = {tip: block.last(behind[tip]) for tip in tips}
    found: set[Place] = set()
    for number in reversed(order):
        sought = wanted.get(number, 0)
        if not sought:
            continue
        merge, own = graph.merges[number], block.bits.get(number, 0)
        if sought & own:
            found |= {merge.place, (merge.source.incarnation, merge.source.seq)}
        below = sought & ~own & behind.get(merge.below, 0)
        aside = sought & ~own & ~below
        if aside:
            found.add(merge.place)
            wanted[merge.aside] = wanted.get(merge.aside, 0) | aside
        if below:
            wanted[merge.below] = wanted.get(merge.below, 0) | below
    return found
