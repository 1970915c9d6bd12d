"""The decision of a cleanup as it was first written: every head's whole history is walked by itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping

from omnigraph.graph.maintenance.cleanup.retention import (
    ChainView,
    KeptCommits,
    Limits,
    Place,
    RetentionRoots,
)
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, CommitRef


def keep(chains: Mapping[str, ChainView], standing: RetentionRoots, limits: Limits) -> KeptCommits:
    """Return the commits that stay."""
    kept = KeptCommits()
    for ref in (*standing.heads, *standing.pinned):
        kept.pinned.add((ref.incarnation, ref.seq))
    for incarnation, number in standing.after:
        chain = chains.get(incarnation)
        kept.history.update((incarnation, seq) for seq in (chain.records if chain else ()) if seq > number)
    for head in standing.heads:
        kept.history.update(_within(chains, head, limits))
    for ref in (*standing.heads, *standing.pinned):
        kept.pinned.update(_forks(chains, ref))
    _add_merged(chains, kept, limits)
    for incarnation, seq in [*kept.pinned, *kept.history]:
        kept.pinned.update(_joints(chains, CommitRef("", incarnation, seq)))
    for chain in chains.values():
        if chain.is_closed:
            kept.pinned.add((chain.incarnation, chain.last))
    return kept


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

    That is, for each branch that lives or came into several, the newest commit of it that came into this one,
    and the merges that it came through.
    """
    came_into: dict[str, set[str]] = {}
    for chain in chains.values():
        for record in chain.records.values():
            if record.merged_parent is not None:
                came_into.setdefault(record.merged_parent.incarnation, set()).add(chain.incarnation)
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
                shared = chain is not None and (chain.live or len(came_into[source.incarnation]) > 1)
                if shared and source.seq > newest.get(source.incarnation, (0,))[0]:
                    newest[source.incarnation] = (source.seq, through)
                waiting.append((source, through))
        for record in _line(chains, start):
            seen[record.incarnation] = max(seen.get(record.incarnation, 0), record.seq)
    found: set[Place] = set()
    for incarnation, (seq, through) in newest.items():
        found.update((*through, (incarnation, seq)))
    return found


def _forks(chains: Mapping[str, ChainView], ref: CommitRef) -> Iterator[Place]:
    """Yield where a commit's chain was forked, where the one that it was forked from was, and so on."""
    chain = chains.get(ref.incarnation)
    while chain is not None and (fork := next(_line(chains, chain.fork), None)) is not None:
        yield fork.incarnation, fork.seq
        chain = chains[fork.incarnation]


def _add_merged(chains: Mapping[str, ChainView], kept: KeptCommits, limits: Limits) -> None:
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
