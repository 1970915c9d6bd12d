"""Walking history: commits newest first, and finding one commit by its id without an index."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from omnigraph.base.ids import ulid_time_us
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.record import CommitRecord, CommitRef

_PAGE = 64


def history(chains: Chains, head: CommitRecord) -> Iterator[CommitRecord]:
    """Yield every commit reachable from `head` over both parents, newest first, each once."""
    waiting = [(_newest_first(head), head)]
    seen = {head.commit}
    while waiting:
        _, record = heapq.heappop(waiting)
        yield record
        for parent in (record.parent, record.merged_parent):
            if parent and parent.commit not in seen:
                seen.add(parent.commit)
                prefetch(chains, parent)
                found = chains.record(parent.incarnation, parent.seq)
                if found is not None:  # None: a cleanup has cut history off here
                    heapq.heappush(waiting, (_newest_first(found), found))


def find_commit(chains: Chains, heads: Sequence[CommitRecord], commit: str) -> CommitRecord | None:
    """Return the record of a commit that one of the heads can reach.

    A record's time is never before its id's and never falls along a chain, so each chain is searched
    by halves for the first record that could be it, and from there forward.
    """
    minted_at = ulid_time_us(commit)
    searched: dict[str, int] = {}
    waiting = list(heads)
    while waiting:
        tip = waiting.pop()
        if searched.get(tip.incarnation, -1) >= tip.seq:
            continue
        searched[tip.incarnation] = tip.seq
        first = first_of_chain(chains, tip)
        found = _search(chains, tip.incarnation, first.seq, tip.seq, commit, minted_at)
        if found is not None:
            return found
        for record in _with_merged_parents(chains, first, tip):
            for ref in (record.parent if record is first else None, record.merged_parent):
                if ref and (parent := chains.record(ref.incarnation, ref.seq)) is not None:
                    waiting.append(parent)
    return None


def _newest_first(record: CommitRecord) -> tuple[int, int, str]:
    return (-record.seq, -record.created_at, _reversed_id(record.commit))


def _reversed_id(commit: str) -> str:
    return "".join(chr(127 - ord(letter)) for letter in commit)


def prefetch(chains: Chains, ref: CommitRef) -> None:
    """Read the page that a commit ends, when a walk back through history has come to it."""
    if ref.seq % _PAGE == _PAGE - 1:
        chains.records(ref.incarnation, range(max(1, ref.seq - _PAGE + 1), ref.seq + 1))


def first_of_chain(chains: Chains, tip: CommitRecord) -> CommitRecord:
    """Return the oldest record of the tip's chain that is stored."""
    low, high, first = 0, tip.seq, tip
    while high - low > 1:
        middle = (low + high) // 2
        found = chains.record(tip.incarnation, middle)
        if found is None:
            low = middle
        else:
            high, first = middle, found
    return first


def _search(
    chains: Chains, incarnation: str, first: int, last: int, commit: str, minted_at: int
) -> CommitRecord | None:
    low, high = first - 1, last + 1
    while high - low > 1:
        middle = (low + high) // 2
        record = chains.record(incarnation, middle)
        if record is None or record.created_at < minted_at:
            low = middle
        else:
            high = middle
    for start in range(high, last + 1, _PAGE):
        for record in chains.records(incarnation, range(start, min(start + _PAGE, last + 1))):
            if record.commit == commit:
                return record
    return None


def _with_merged_parents(chains: Chains, first: CommitRecord, tip: CommitRecord) -> Iterator[CommitRecord]:
    """Yield the first record of a chain, and those that merged another branch."""
    yield first
    for start in range(first.seq + 1, tip.seq + 1, _PAGE):
        for record in chains.records(tip.incarnation, range(start, min(start + _PAGE, tip.seq + 1))):
            if record.merged_parent:
                yield record
