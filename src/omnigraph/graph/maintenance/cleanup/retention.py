"""Which commits a cleanup keeps: a pure decision over what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from omnigraph.graph.maintenance.first_parent_lines import ChainView, FirstParentLines, Place
from omnigraph.graph.maintenance.merge_starts import merge_starts
from omnigraph.graph.manifest.floors import Floor, join_drops, runs_of
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, CommitRef

__all__ = ["ChainView", "KeptCommits", "Limits", "Place", "RetentionRoots", "floor_of", "is_idle", "keep"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much history stays: a commit is dropped when every given limit lets it go; none keeps all."""

    keep: int | None = None
    """So many of the newest commits of every branch; those that change no table are not counted."""
    since: int | None = None
    """Everything from this moment on, in microseconds."""
    deleted: bool = False
    """Whether all deleted branches stay as if they lived; else only those that were deleted after `since`."""
    idle: bool = True
    """Whether commits stay that change nothing and that another such follows: fences of earlier cleanups."""

    @property
    def are_none(self) -> bool:
        """Whether all history stays."""
        return self.keep is None and self.since is None


@dataclass(frozen=True)
class RetentionRoots:
    """What history stands on: commits that must stay whatever the limits are."""

    heads: Sequence[CommitRef]
    """The newest commit of every live branch."""
    pinned: Sequence[CommitRef] = ()
    """Forks of live branches, tags, and what pending plans are based on."""
    after: Sequence[Place] = ()
    """Chains of which everything after a number stays, because a pending plan will look for itself there."""
    merged: Sequence[CommitRef] = ()
    """What pending plans are about to merge: it counts as merged."""


@dataclass
class KeptCommits:
    """The commits that stay, by chain and number."""

    pinned: set[Place] = field(default_factory=set)
    """With every table: heads, forks, tags, bases of plans, and what later merges start from."""
    history: set[Place] = field(default_factory=set)
    """Those within the limits."""
    starts: set[Place] = field(default_factory=set)
    """Those that are kept for nothing but that merges start from them."""

    def __contains__(self, place: Place) -> bool:
        return place in self.pinned or place in self.history


def keep(
    chains: Mapping[str, ChainView],
    standing: RetentionRoots,
    limits: Limits,
    gone: Mapping[str, CommitRef | None] | None = None,
) -> KeptCommits:
    """Return the commits that stay; every record is looked at a few times, however many heads there are.

    `gone` tells where chains were forked of which nothing is left.
    """
    kept, lines = KeptCommits(), FirstParentLines(chains, gone)
    standing = replace(standing, heads=(*standing.heads, *_restorable(chains, limits)))
    for ref in (*standing.heads, *standing.pinned):
        kept.pinned.add((ref.incarnation, ref.seq))
    for incarnation, number in standing.after:
        chain = chains.get(incarnation)
        kept.history.update((incarnation, seq) for seq in (chain.records if chain else ()) if seq > number)
    within = set(_walk_within(lines, standing.heads, limits))
    kept.history |= within
    kept.pinned |= _forks(lines, (*standing.heads, *standing.pinned))
    kept.history |= _keep_merged(lines, kept, within, limits, standing.merged)
    # A branch can be begun from all of these, and restored: merges into it must find where they start from.
    kept.starts = merge_starts(lines, kept.pinned | kept.history)
    kept.pinned |= kept.starts
    if not limits.idle:
        kept.history -= _find_idle(chains, standing)
    for chain in chains.values():
        if chain.is_closed:
            kept.pinned.add((chain.incarnation, chain.last))
    return kept


def _restorable(chains: Mapping[str, ChainView], limits: Limits) -> Iterator[CommitRef]:
    """Yield the last commits of deleted branches that can still be restored after this cleanup."""
    for chain in chains.values():
        end = chain.records[chain.last]
        young = limits.since is not None and end.created_at >= limits.since
        if end.closed and end.successor is None and end.parent is not None and (limits.deleted or young):
            yield end.parent


def floor_of(chain: ChainView, kept: KeptCommits, dropped_tables: Mapping[str, int]) -> Floor | None:
    """Return the floor that leaves a chain with what is kept of it; None when it stays complete."""
    if is_dead(chain, kept):
        return make_ended_floor(chain.incarnation, chain.branch, chain.fork, chain.last)
    before = chain.floor.floor if chain.floor else None
    numbers = chain.numbers
    staying = [seq for seq in numbers if (chain.incarnation, seq) in kept]
    tables = join_drops(before.tables if before else {}, dropped_tables)
    starts = [
        seq for seq in staying if (chain.incarnation, seq) in kept.starts or (before and before.is_start(seq))
    ]
    if staying == numbers and before is None and not (tables or starts):
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
        starts=tuple(starts),
        tables={identity: seq for identity, seq in tables.items() if seq > first},
    )


def find_drops_left(chains: Iterable[ChainView]) -> dict[str, dict[str, int]]:
    """Return what commits have dropped for good and floors do not say yet: who did it was cut off.

    By chain and table identity: what records before a number say of the table goes.
    """
    left: dict[str, dict[str, int]] = {}
    for chain in chains:
        done = chain.floor.floor.tables if chain.floor else {}
        for seq, record in chain.records.items():
            for identity in record.reclaims:
                if done.get(identity, 0) < seq and _names_before(chain, identity, seq):
                    left.setdefault(chain.incarnation, {})[identity] = seq
    return left


def _names_before(chain: ChainView, identity: str, seq: int) -> bool:
    return any(before < seq and identity in record.tables for before, record in chain.records.items())


def is_dead(chain: ChainView, kept: KeptCommits) -> bool:
    """Return whether nothing is kept of a chain that has ended, but for the record that ends it."""
    if chain.live or chain.named or not chain.is_closed:
        return False  # what a name stands for is followed to where it goes on
    return not any((chain.incarnation, seq) in kept for seq in chain.numbers[:-1])


def make_ended_floor(incarnation: str, branch: str, fork: CommitRef | None, last: int) -> Floor:
    """Return the floor that leaves nothing of a chain."""
    return Floor(incarnation, branch, fork, below=last + 1, since=0, ended=True)


def _walk_within(lines: FirstParentLines, heads: Iterable[CommitRef], limits: Limits) -> Iterator[Place]:
    """Yield what the limits keep of the lines of all heads.

    Lines run together at forks. Of those that come to a record, the one with the most commits left to count
    goes on at least as far as the others, so it stands for all.
    """
    left: dict[str, dict[int, int]] = {}
    for head in heads:
        _count_from(left, lines.start(head), limits.keep or 0)
    for chain in lines.children_first:
        coming = left.pop(chain.incarnation, None)
        if coming is None:
            continue
        counting: int | None = None
        for index in range(len(chain.numbers) - 1, -1, -1):
            seq = chain.numbers[index]
            counting = max((item for item in (counting, coming.get(seq)) if item is not None), default=None)
            if counting is None:
                continue
            record = chain.records[seq]
            young = limits.since is not None and record.created_at >= limits.since
            if not (limits.are_none or counting > 0 or young):
                counting = None
                continue
            yield chain.incarnation, seq
            older = (chain.incarnation, chain.numbers[index - 1]) if index else lines.start(chain.fork)
            counting -= _is_counted(record, lines.record(older))
        if counting is not None:
            _count_from(left, lines.start(chain.fork), counting)


def _count_from(left: dict[str, dict[int, int]], place: Place | None, counting: int) -> None:
    if place is not None:
        coming = left.setdefault(place[0], {})
        coming[place[1]] = max(coming.get(place[1], counting), counting)


def _is_counted(record: CommitRecord, older: CommitRecord | None) -> bool:
    """Return whether a commit is one of those to keep: notes and fences, which change no table, are not."""
    if record.commit_class is CommitClass.LOGICAL or older is None:
        return True
    return any(
        identity not in older.tables or older.tables[identity].pin != entry.pin
        for identity, entry in record.tables.items()
    )


def _find_idle(chains: Mapping[str, ChainView], standing: RetentionRoots) -> set[Place]:
    """Return the fences that another one follows, so that of each run of them only the last is left.

    The newest record of a chain is never among them, nor is what a pending plan may look for.
    """
    after: dict[str, int] = {}
    for incarnation, number in standing.after:
        after[incarnation] = min(number, after.get(incarnation, number))
    found: set[Place] = set()
    for chain in chains.values():
        records = [chain.records[seq] for seq in chain.numbers]
        idle = [is_idle(record, older) for older, record in pairwise(records)]
        for record, (this, following) in zip(records[1:], pairwise(idle), strict=False):
            if this and following and record.seq <= after.get(chain.incarnation, record.seq):
                found.add((chain.incarnation, record.seq))
    return found


def is_idle(record: CommitRecord, older: CommitRecord) -> bool:
    """Return whether a commit is a fence and nothing else: it says what the one before it says."""
    said = (record.recovery, record.merged_parent, record.closed, record.successor)
    return (
        record.operation == "cleanup"
        and record.commit_class is CommitClass.MAINTENANCE
        and not any(said)
        and record.content == older.content
        and record.definitions == older.definitions
        and record.streams == older.streams
        and record.tables == older.tables
    )


def _forks(lines: FirstParentLines, refs: Iterable[CommitRef]) -> set[Place]:
    """Return where the chains of these commits were forked, down to main: what merges are based on.

    A live branch may have been begun from a commit of a deleted one, whose own fork nothing else keeps.
    """
    found: set[Place] = set()
    for ref in refs:
        chain = lines.chains.get(ref.incarnation)
        while chain is not None and (place := lines.start(chain.fork)) is not None and place not in found:
            found.add(place)
            chain = lines.chains.get(place[0])
    return found


def _keep_merged(
    lines: FirstParentLines,
    kept: KeptCommits,
    within: Set[Place],
    limits: Limits,
    pending: Iterable[CommitRef],
) -> set[Place]:
    """Return the commits of deleted branches that were merged into what stays, as far as the limits reach."""
    found: set[Place] = set()
    if limits.keep is not None and limits.since is None:
        return found
    chains, waiting = lines.chains, [*kept.pinned, *kept.history]
    sources = list(pending)
    while waiting or sources:
        if not sources:
            record = lines.find(waiting.pop())
            sources = [record.merged_parent] if record is not None and record.merged_parent else []
            continue
        source = sources.pop()
        if source.incarnation not in chains or chains[source.incarnation].live:
            continue
        for merged in lines.walk(source):
            place = merged.incarnation, merged.seq
            young = limits.since is None or merged.created_at >= limits.since
            # What stays for another reason, such as a tag, does not stand for what came before it.
            if place in within or place in found or not young:
                break
            found.add(place)
            waiting.append(place)
    return found
