"""Which commits a cleanup keeps: a pure decision over what was found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.graph.manifest.floors import Floor, StoredFloor, runs_of
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, CommitRef

Place = tuple[str, int]
"""A chain's incarnation and a number in it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much history stays: a commit is dropped when every given limit lets it go; none keeps all."""

    keep: int | None = None
    """So many of the newest commits of every branch; those that change no table are not counted."""
    since: int | None = None
    """Everything from this moment on, in microseconds."""

    @property
    def are_none(self) -> bool:
        """Say whether all history stays."""
        return self.keep is None and self.since is None


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

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of the records, ascending."""
        return sorted(self.records)

    @property
    def last(self) -> int:
        """The number of the newest record."""
        return self.numbers[-1]

    @property
    def is_closed(self) -> bool:
        """Say whether the branch was deleted."""
        return self.records[self.last].closed

    def is_dead(self, kept: Kept) -> bool:
        """Say whether nothing is kept of a chain that has ended, but for the record that ends it."""
        if self.live or not self.is_closed:
            return False
        return not any((self.incarnation, seq) in kept for seq in self.numbers[:-1])


@dataclass(frozen=True)
class Standing:
    """What history stands on: commits that must stay whatever the limits are."""

    heads: Sequence[CommitRef]
    """The newest commit of every live branch."""
    pinned: Sequence[CommitRef] = ()
    """Forks of live branches, tags, and what pending plans are based on."""
    after: Sequence[Place] = ()
    """Chains of which everything after a number stays, because a pending plan will look for itself there."""


@dataclass
class Kept:
    """The commits that stay, by chain and number."""

    pinned: set[Place] = field(default_factory=set)
    """With every table: heads, forks, tags, bases of plans, and what later merges start from."""
    history: set[Place] = field(default_factory=set)
    """Those within the limits."""

    def __contains__(self, place: Place) -> bool:
        return place in self.pinned or place in self.history


def keep(chains: Mapping[str, ChainView], standing: Standing, limits: Limits) -> Kept:
    """Return the commits that stay."""
    kept = Kept()
    for ref in (*standing.heads, *standing.pinned):
        kept.pinned.add((ref.incarnation, ref.seq))
    for incarnation, number in standing.after:
        chain = chains.get(incarnation)
        kept.history.update((incarnation, seq) for seq in (chain.records if chain else ()) if seq > number)
    for head in standing.heads:
        kept.history.update(_within(chains, head, limits))
        kept.pinned.update(_joints(chains, head))
    _add_merged(chains, kept, limits)
    for chain in chains.values():
        if chain.is_closed:
            kept.pinned.add((chain.incarnation, chain.last))
    return kept


def floor_of(chain: ChainView, kept: Kept, dropped_tables: Mapping[str, int]) -> Floor | None:
    """Return the floor that leaves a chain with what is kept of it; None when it stays complete."""
    if chain.is_dead(kept):
        return ended_floor(chain.incarnation, chain.branch, chain.fork, chain.last)
    before = chain.floor.floor if chain.floor else None
    numbers = chain.numbers
    staying = [seq for seq in numbers if (chain.incarnation, seq) in kept]
    tables = {**(before.tables if before else {}), **dropped_tables}
    if staying == numbers and before is None and not tables:
        return None
    below = numbers[-1]
    while (chain.incarnation, below - 1) in kept and below - 1 in chain.records:
        below -= 1
    early = tuple(seq for seq in staying if seq < below)
    first = min(early, default=below)
    return Floor(
        incarnation=chain.incarnation,
        branch=chain.branch,
        fork=chain.fork,
        below=below,
        since=chain.records[below].created_at,
        kept=runs_of(early),
        tables={identity: seq for identity, seq in tables.items() if seq > first},
    )


def ended_floor(incarnation: str, branch: str, fork: CommitRef | None, last: int) -> Floor:
    """Return the floor that leaves nothing of a chain."""
    return Floor(incarnation, branch, fork, below=last + 1, since=0, ended=True)


def _line(chains: Mapping[str, ChainView], start: CommitRef | None) -> Iterator[CommitRecord]:
    """Yield what is left of the first-parent history of a commit, newest first, itself included."""
    while start is not None:
        chain = chains.get(start.incarnation)
        if chain is None:
            return
        upto = bisect_right(chain.numbers, start.seq)
        yield from (chain.records[seq] for seq in reversed(chain.numbers[:upto]))
        start = chain.fork


def _within(chains: Mapping[str, ChainView], head: CommitRef, limits: Limits) -> Iterator[Place]:
    counted = 0
    line = _line(chains, head)
    record = next(line, None)
    while record is not None:
        counts = limits.keep is not None and counted < limits.keep
        young = limits.since is not None and record.created_at >= limits.since
        if not (limits.are_none or counts or young):
            return
        yield record.incarnation, record.seq
        older = next(line, None)
        counted += _is_counted(record, older)
        record = older


def _is_counted(record: CommitRecord, older: CommitRecord | None) -> bool:
    """Say whether a commit is one of those to keep: notes and fences, which change no table, are not."""
    if record.commit_class is CommitClass.LOGICAL or older is None:
        return True
    return any(
        identity not in older.tables or older.tables[identity].pin != entry.pin
        for identity, entry in record.tables.items()
    )


def _joints(chains: Mapping[str, ChainView], head: CommitRef) -> set[Place]:
    """Return what a later merge into or out of a branch starts from.

    That is, for each live branch, the newest commit of it that came into this one, and the merges that it
    came through.
    """
    newest: dict[str, tuple[int, tuple[Place, ...]]] = {}
    seen: dict[str, int] = {}
    waiting: list[tuple[CommitRef, tuple[Place, ...]]] = [(head, ())]
    while waiting:
        start, path = waiting.pop()
        for record in _line(chains, start):
            if seen.get(record.incarnation, 0) >= record.seq:
                break
            if record.merged_parent is not None:
                through = (*path, (record.incarnation, record.seq))
                source = record.merged_parent
                chain = chains.get(source.incarnation)
                if chain is not None and chain.live and source.seq > newest.get(source.incarnation, (0,))[0]:
                    newest[source.incarnation] = (source.seq, through)
                waiting.append((source, through))
        for record in _line(chains, start):
            seen[record.incarnation] = max(seen.get(record.incarnation, 0), record.seq)
    found: set[Place] = set()
    for incarnation, (seq, through) in newest.items():
        found.update((*through, (incarnation, seq)))
    return found


def _add_merged(chains: Mapping[str, ChainView], kept: Kept, limits: Limits) -> None:
    """Keep commits of deleted branches that were merged into what stays, as far as the limits reach."""
    if limits.keep is not None and limits.since is None:
        return
    waiting = [*kept.pinned, *kept.history]
    while waiting:
        incarnation, seq = waiting.pop()
        chain = chains.get(incarnation)
        record = chain.records.get(seq) if chain else None
        source = record.merged_parent if record else None
        if source is None or source.incarnation not in chains or chains[source.incarnation].live:
            continue
        for merged in _line(chains, source):
            place = merged.incarnation, merged.seq
            young = limits.since is None or merged.created_at >= limits.since
            if place in kept or not young:
                break
            kept.history.add(place)
            waiting.append(place)
