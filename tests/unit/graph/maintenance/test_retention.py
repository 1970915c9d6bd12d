"""Which commits a cleanup keeps, compared with the decision as it was first written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise
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
def test_the_decision_is_that_of_a_walk_from_every_head(seeds: range) -> None:
    for seed in seeds:
        dice = RandomChains(seed)
        chains = dice.chains()
        standing, limits = dice.standing(chains), dice.limits()
        found = keep(chains, standing, limits)
        young = [
            end.parent
            for chain in chains.values()
            if (end := chain.records[chain.last]).closed and end.parent and limits.since is not None
            if end.created_at >= limits.since
        ]
        standing = replace(standing, heads=[*standing.heads, *young])
        within = {place for head in standing.heads for place in reference._within(chains, head, limits)}
        assert within == set(retention._walk_within(FirstParentLines(chains), standing.heads, limits))
        standing_on = [*standing.heads, *standing.pinned]
        forks = (fork for ref in standing_on for fork in reference._forks(chains, ref))
        ends = {(chain.incarnation, chain.last) for chain in chains.values() if chain.is_closed}
        assert found.pinned - found.starts == {*_places(standing_on), *forks, *ends} - found.starts
        # What was merged from ended branches: at least what it was, without stopping at what is pinned.
        assert found.history | found.starts >= reference.keep(chains, standing, limits).history


Parents = dict[Place, list[Place]]


def _parents(chains: dict[str, ChainView], left: Callable[[Place], bool]) -> Parents:
    """Return the parents of every commit as a walk finds them that passes over what is not left."""

    def start(ref: CommitRef | None) -> Place | None:
        while ref is not None:
            chain = chains.get(ref.incarnation)
            for seq in reversed(chain.numbers if chain else ()):
                if seq <= ref.seq and left((ref.incarnation, seq)):
                    return ref.incarnation, seq
            ref = chain.fork if chain else None
        return None

    found: Parents = {}
    for name, chain in chains.items():
        for seq, record in chain.records.items():
            refs = [record.parent, record.merged_parent]
            found[name, seq] = [place for place in map(start, refs) if place is not None]
    return found


def _behind(parents: Parents, place: Place) -> set[Place]:
    found, waiting = {place}, [place]
    while waiting:
        new = [parent for parent in parents[waiting.pop()] if parent not in found]
        found.update(new)
        waiting += new
    return found


def _starts(behind: dict[Place, set[Place]], one: Place, two: Place) -> set[Place]:
    """Return the common ancestors that no other one descends from."""
    common = behind[one] & behind[two]
    return {place for place in common if not any(place in behind[other] - {other} for other in common)}


@pytest.mark.parametrize("seeds", PARTS, ids=str)
@pytest.mark.parametrize("bits", [2, merge_starts._BITS_PER_PASS])
def test_merges_start_from_what_they_would_have_started_from(
    seeds: range, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_starts, "_BITS_PER_PASS", bits)
    for seed in seeds:
        dice = RandomChains(seed)
        chains = dice.chains()
        kept = keep(chains, dice.standing(chains), dice.limits())
        before, after = _parents(chains, lambda place: True), _parents(chains, kept.__contains__)
        were = {place: _behind(before, place) for place in before}
        are = {place: _behind(after, place) for place in after}
        ends = {(chain.incarnation, chain.last) for chain in chains.values() if chain.is_closed}
        begun = [place for place in before if place in kept and place not in kept.starts | ends]
        for one, two in combinations(dice.dice.sample(begun, min(12, len(begun))), 2):
            assert _starts(were, one, two) == _starts(are, one, two), (seed, one, two)


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


def test_little_is_kept_for_merges_alone() -> None:
    """Branches that were merged and deleted leave nothing behind, however many there were."""
    main, chains = {1: made_record("main", 1, 0, 0, None)}, {}
    for number in range(1, 200):
        before = main[number].ref
        work = made_record(f"b{number}", number + 1, number, number, before)
        end = replace(made_record(f"b{number}", number + 2, number, number, work.ref), closed=True)
        chains[f"b{number}"] = ChainView(
            f"b{number}", f"b{number}", before, False, {work.seq: work, end.seq: end}
        )
        merge = made_record("main", number + 1, number, number, before)
        main[number + 1] = replace(merge, merged_parent=work.ref)
    chains["main"] = ChainView("main", "main", None, True, main)
    kept = keep(chains, RetentionRoots([main[200].ref]), Limits(keep=1))
    assert kept.starts == set()


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
