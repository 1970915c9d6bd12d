"""What later merges start from: the commits where what stays came apart, and the merges that lead there.

A merge of two commits starts from the common ancestors that no other one descends from. Such a commit has
two children, and no child has both commits before it: it was forked or merged, or two lines would not come
apart there. So history is reduced to where it bends: to merges, what was merged, what was forked, and the
newest commit of each chain; between two bends it is a run of commits with one parent and one child each.

Two questions are asked of all bends at once, with a bit for each commit that stays (one for all of a run):

- From the newest to the oldest: which of them descend from a bend, by each of its children? Unless all do by
  one child, merges may start here.
- From the oldest to the newest: which of them lie behind each parent of a merge? Where the second parent
  leads to one that the first does not, the merge stays, so that the walk back finds its way.

What is dropped is walked over to the commit before it, so by induction every commit that stays is behind the
same commits as before. Whatever is made of them later descends from them, and merges of that start from what
merges of them start from, or from something newer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnigraph.graph.maintenance.first_parent_lines import FirstParentLines, Place

_BITS_PER_PASS = 4_096
"""Bits of one set; more are taken in several passes, so that memory grows with the number of bends only."""


def merge_starts(lines: FirstParentLines, kept: Collection[Place]) -> set[Place]:
    """Return what must stay beside some commits, so that merges of them start where they start now."""
    bends = _bends(lines, kept)
    order = _ancestors_first(bends)
    parted, reached = _find_partings(bends, order)
    staying = [bend.is_kept or number in parted for number, bend in enumerate(bends)]
    ways = _find_ways(bends, order, staying)
    return {bends[number].place for number in parted | (ways & reached) if not bends[number].is_kept}


@dataclass(frozen=True, slots=True)
class _Bend:
    """A commit where history bends."""

    place: Place
    below: int | None
    """The bend before it, along first parents."""
    aside: int | None
    """The bend at or before what it merged."""
    is_kept: bool
    has_kept_run: bool
    """Whether some commit stays that lies between it and the bend below."""


def _bends(lines: FirstParentLines, kept: Collection[Place]) -> list[_Bend]:
    numbers = _bent_numbers(lines)
    places = [(chain, seq) for chain, bent in numbers.items() for seq in bent]
    index = {place: number for number, place in enumerate(places)}
    staying: dict[str, list[int]] = {}
    for chain, seq in sorted(kept):
        staying.setdefault(chain, []).append(seq)
    bends: list[_Bend] = []
    for chain, bent in numbers.items():
        view, stays = lines.chains[chain], staying.get(chain, [])
        before: Place | None = lines.start(view.fork)
        lowest = 0
        for seq in bent:
            merged = lines.start(view.records[seq].merged_parent)
            run = bisect_left(stays, seq) > bisect_left(stays, lowest)
            bends.append(
                _Bend(
                    (chain, seq),
                    index[before] if before is not None else None,
                    index[merged] if merged is not None else None,
                    (chain, seq) in kept,
                    run,
                )
            )
            before, lowest = (chain, seq), seq + 1
    return bends


def _bent_numbers(lines: FirstParentLines) -> dict[str, list[int]]:
    """Return where each chain bends: its merges, what others were forked from or have merged, and its end."""
    found: dict[str, set[int]] = {name: {chain.last} for name, chain in lines.chains.items()}
    for name, chain in lines.chains.items():
        merges = [record for record in chain.records.values() if record.merged_parent is not None]
        found[name].update(record.seq for record in merges)
        for ref in (chain.fork, *(record.merged_parent for record in merges)):
            if (place := lines.start(ref)) is not None:
                found[place[0]].add(place[1])
    return {name: sorted(numbers) for name, numbers in found.items()}


def _parents(bend: _Bend) -> Iterator[int]:
    return (parent for parent in (bend.below, bend.aside) if parent is not None)


def _ancestors_first(bends: Sequence[_Bend]) -> list[int]:
    """Return the bends, each after all that lie behind it; in a damaged history, after most of them."""
    done: dict[int, bool] = {}
    order: list[int] = []
    waiting = list(range(len(bends)))
    while waiting:
        number = waiting[-1]
        if number not in done:
            done[number] = False
            waiting += [parent for parent in _parents(bends[number]) if parent not in done]
            continue
        waiting.pop()
        if not done[number]:
            done[number] = True
            order.append(number)
    return order


@dataclass(frozen=True, slots=True)
class _Bits:
    """Some of the commits that stay, one bit each: at bends, and in the runs below them."""

    at: Mapping[int, int]
    in_run: Mapping[int, int]


def _passes(bends: Sequence[_Bend], staying: Sequence[bool]) -> Iterator[_Bits]:
    """Yield the bits of the bends that stay and of the runs in which something does, a pass's at a time."""
    wanted = [(number, False) for number, stays in enumerate(staying) if stays]
    wanted += [(number, True) for number, bend in enumerate(bends) if bend.has_kept_run]
    for start in range(0, len(wanted), _BITS_PER_PASS):
        page = wanted[start : start + _BITS_PER_PASS]
        bits = [(number, in_run, 1 << bit) for bit, (number, in_run) in enumerate(page)]
        yield _Bits(
            {number: bit for number, in_run, bit in bits if not in_run},
            {number: bit for number, in_run, bit in bits if in_run},
        )


def _find_partings(bends: Sequence[_Bend], order: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return the bends that no child alone leads to from all that stays, and those that anything leads to."""
    newest_first = list(reversed(list(order)))
    covering: dict[int, list[bool]] = {}
    reached: set[int] = set()
    for bits in _passes(bends, [bend.is_kept for bend in bends]):
        coming: dict[int, list[int]] = {}
        for number in newest_first:
            bend, children = bends[number], coming.pop(number, [])
            union = 0
            for child in children:
                union |= child
            before = covering.get(number, [True] * len(children))
            covering[number] = [was and child == union for was, child in zip(before, children, strict=False)]
            union |= bits.at.get(number, 0)
            if union:
                reached.add(number)
            if bend.below is not None:
                coming.setdefault(bend.below, []).append(union | bits.in_run.get(number, 0))
            if bend.aside is not None:
                coming.setdefault(bend.aside, []).append(union)
    return {number for number, covers in covering.items() if covers and not any(covers)}, reached


def _find_ways(bends: Sequence[_Bend], order: Sequence[int], staying: Sequence[bool]) -> set[int]:
    """Return the merges whose second parent leads to something that stays and that their first does not."""
    found: set[int] = set()
    for bits in _passes(bends, staying):
        behind: dict[int | None, int] = {None: 0}
        for number in order:
            bend = bends[number]
            # A merge that seems to lie behind itself, in a damaged history, is not followed twice.
            first = behind.get(bend.below, 0) | bits.in_run.get(number, 0)
            second = behind.get(bend.aside, 0)
            if second & ~first:
                found.add(number)
            behind[number] = first | second | bits.at.get(number, 0)
    return found
