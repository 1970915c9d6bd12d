"""Which commits a cleanup keeps, compared with the decision as it was first written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import CorruptState
from omnigraph.graph.maintenance import merge_starts
from omnigraph.graph.maintenance.cleanup import retention
from omnigraph.graph.maintenance.cleanup.retention import (
    ChainView,
    KeptCommits,
    Limits,
    Place,
    RetentionRoots,
    keep,
)
from omnigraph.graph.maintenance.first_parent_lines import FirstParentLines
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from support import reference_retention as reference
from support.care import PEOPLE, at_once, fill
from support.random_chains import RandomChains, made_record

SEEDS = range(400)
PARTS = [SEEDS[start : start + 50] for start in SEEDS[::50]]


def _newest_of_others(chains: dict[str, ChainView], head: CommitRef) -> Iterator[Place]:
    """Yield, for a head and every branch that lives or came into several, the newest commit of it there."""
    best: dict[str, int] = {}
    came_into: dict[str, set[str]] = {}
    for chain in chains.values():
        for record in chain.records.values():
            if record.merged_parent is not None:
                came_into.setdefault(record.merged_parent.incarnation, set()).add(chain.incarnation)
    for record in _reached(chains, head, None):
        source = record.merged_parent
        if source is None or source.incarnation not in chains:
            continue
        if chains[source.incarnation].live or len(came_into[source.incarnation]) > 1:
            best[source.incarnation] = max(source.seq, best.get(source.incarnation, 0))
    return iter(best.items())


def _reached(
    chains: dict[str, ChainView], head: CommitRef, kept: KeptCommits | None
) -> Iterator[CommitRecord]:
    """Yield what a walk from a head comes by, over both parents; only what is kept when that is given."""
    seen: set[Place] = set()
    waiting = [head]
    while waiting:
        ref: CommitRef | None = waiting.pop()
        while ref is not None and (chain := chains.get(ref.incarnation)) is not None:
            for seq in reversed([seq for seq in chain.numbers if seq <= ref.seq]):
                place = (chain.incarnation, seq)
                if place in seen or (kept is not None and place not in kept):
                    continue
                seen.add(place)
                record = chain.records[seq]
                yield record
                if record.merged_parent is not None:
                    waiting.append(record.merged_parent)
            ref = chain.fork


@pytest.mark.parametrize("seeds", PARTS, ids=str)
@pytest.mark.parametrize("block", [2, merge_starts._BLOCK])
def test_the_decision_is_that_of_a_walk_from_every_head(
    seeds: range, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_starts, "_BLOCK", block)
    for seed in seeds:
        _compare(seed)


def _compare(seed: int) -> None:
    dice = RandomChains(seed)
    chains = dice.chains()
    standing, limits = dice.standing(chains), dice.limits()
    found, expected = keep(chains, standing, limits), reference.keep(chains, standing, limits)
    within = {place for head in standing.heads for place in reference._within(chains, head, limits)}
    assert within == set(retention._within(FirstParentLines(chains), standing.heads, limits))
    standing_on = [*standing.heads, *standing.pinned]
    pinned = {*_places(standing_on), *(fork for ref in standing_on for fork in reference._forks(chains, ref))}
    begun = [CommitRef("", *place) for place in pinned | found.history]
    joined = set().union(*(reference._joints(chains, head) for head in begun))
    wanted = {place for head in begun for place in _newest_of_others(chains, head)}
    assert wanted <= joined
    assert wanted <= found.pinned
    # Which of several ways a commit came by is kept is free, but one is.
    for head in begun:
        reached = {
            (record.merged_parent.incarnation, record.merged_parent.seq)
            for record in _reached(chains, head, found)
            if record.merged_parent is not None
        }
        assert set(_newest_of_others(chains, head)) <= reached
    ways = {
        place
        for place in joined | merge_starts.joints(FirstParentLines(chains), _places(begun))
        if place not in wanted
    }
    ends = {(chain.incarnation, chain.last) for chain in chains.values() if chain.is_closed}
    assert found.pinned - ways == (pinned | wanted | ends) - ways
    assert found.pinned - ways >= expected.pinned - ways
    # What was merged from ended branches: at least what it was, without stopping at what is pinned.
    assert found.history | ways >= expected.history


def _places(refs: Iterable[CommitRef]) -> list[Place]:
    return [(ref.incarnation, ref.seq) for ref in refs]


@pytest.mark.parametrize("seeds", PARTS, ids=str)
def test_without_limits_everything_that_a_head_reaches_stays(seeds: range) -> None:
    for seed in seeds:
        dice = RandomChains(seed)
        chains = dice.chains()
        standing = dice.standing(chains)
        kept = keep(chains, standing, Limits())
        reached = [record for head in standing.heads for record in _reached(chains, head, None)]
        assert all((record.incarnation, record.seq) in kept for record in reached), seed


def test_no_more_ways_are_kept_than_before() -> None:
    new = old = 0
    for seed in SEEDS:
        dice = RandomChains(seed)
        chains = dice.chains()
        heads = dice.standing(chains).heads
        new += len(merge_starts.joints(FirstParentLines(chains), _places(heads)))
        old += len(set().union(*(reference._joints(chains, head) for head in heads)))
    assert new <= old


def test_chains_that_are_forked_from_each_other_stop_a_cleanup() -> None:
    one = made_record("a", 2, 1, 1, CommitRef("b-1", "b", 1))
    two = made_record("b", 2, 1, 1, CommitRef("a-1", "a", 1))
    chains = {
        item.branch: ChainView(item.branch, item.branch, item.parent, True, {2: item}) for item in (one, two)
    }
    with pytest.raises(CorruptState, match="forked from itself"):
        keep(chains, RetentionRoots([one.ref, two.ref]), Limits())


def test_a_deleted_branch_that_merged_a_live_one_keeps_all_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merge with the live branch is kept for later merges; what came before it must stay as well."""
    at_once(monkeypatch)
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("live")
    fill(graph, 1, 10, "live")
    graph.branches.create("dev")
    early = fill(graph, 2, 20, "dev")
    graph.branches.merge("live", into="dev")
    fill(graph, 1, 30, "dev")
    fill(graph, 1, 40)
    graph.branches.merge("dev", delete_branch=True)
    before = [commit.id for commit in graph.commits.list()]
    assert set(early) <= set(before)
    graph.cleanup()
    after = [commit.id for commit in og.open(graph.uri).commits.list() if not commit.maintenance]
    assert after == before


def test_every_record_is_looked_at_a_few_times_whatever_the_heads() -> None:
    """Counted: how often the decision asks for a record, with 10 and with 200 heads over the same line."""

    class Counting(dict[int, CommitRecord]):
        asked = 0

        def __getitem__(self, seq: int) -> CommitRecord:
            Counting.asked += 1
            return super().__getitem__(seq)

    def asked(heads: int) -> int:
        line: list[CommitRecord] = []
        for seq in range(1, 1_001):
            line.append(made_record("main", seq, seq, seq, line[-1].ref if line else None))
        chains = {"main": ChainView("main", "main", None, True, Counting({item.seq: item for item in line}))}
        for number in range(heads):
            fork = line[number * (1_000 // heads)]
            own = made_record(f"b{number}", fork.seq + 1, 2_000 + number, 0, fork.ref)
            chains[own.branch] = ChainView(own.branch, own.branch, fork.ref, True, {own.seq: own})
        standing = RetentionRoots([chain.records[chain.last].ref for chain in chains.values()])
        Counting.asked = 0
        assert len(keep(chains, standing, Limits()).history) == 1_000 + heads
        return Counting.asked

    few, many = asked(10), asked(200)
    assert many <= few + 200 * 4
    assert few <= 1_000 * 6


def test_dates_of_the_test_histories_never_fall() -> None:
    for seed in SEEDS:
        for records in RandomChains(seed).records.values():
            assert all(one.created_at <= two.created_at for one, two in pairwise(records))
