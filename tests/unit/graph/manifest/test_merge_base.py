"""The commit that a merge starts from, compared with one that is found by brute force."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base import telemetry
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.merge_base import merge_base
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.storage.objects import open_store
from support.random_chains import RandomChains, made_record

Records = dict[str, CommitRecord]


def _ancestors(records: Records, head: CommitRecord) -> set[str]:
    found, waiting = {head.commit}, [head]
    while waiting:
        record = waiting.pop()
        for ref in (record.parent, record.merged_parent):
            if ref is not None and ref.commit not in found:
                found.add(ref.commit)
                waiting.append(records[ref.commit])
    return found


def _steps(records: Records, head: CommitRecord, base: CommitRecord) -> int:
    """Return how many steps lead back to a commit, over a first parent wherever that leads there."""
    steps = 0
    while head.commit != base.commit:
        parents = [records[ref.commit] for ref in (head.parent, head.merged_parent) if ref is not None]
        head = next(parent for parent in parents if base.commit in _ancestors(records, parent))
        steps += 1
    return steps


def _by_brute_force(records: Records, ours: CommitRecord, theirs: CommitRecord) -> CommitRecord:
    common = [records[commit] for commit in _ancestors(records, ours) & _ancestors(records, theirs)]
    behind = {commit for item in common for commit in _ancestors(records, item) if commit != item.commit}
    best = [item for item in common if item.commit not in behind]
    return min(
        best,
        key=lambda item: (
            _steps(records, ours, item) + _steps(records, theirs, item),
            -item.seq,
            -item.created_at,
            item.commit,
        ),
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_base_is_the_nearest_of_the_newest_common_ancestors(tmp_path: Path, seed: int) -> None:
    made = RandomChains(seed)
    chains = Chains(open_store(str(tmp_path)), capacity=7)
    records = {record.commit: record for line in made.records.values() for record in line}
    for record in records.values():
        assert chains.put(record)
    for _ in range(20):
        ours, theirs = made.any_record(), made.any_record()
        assert merge_base(chains, ours, theirs) == _by_brute_force(records, ours, theirs), seed


def test_a_long_way_to_the_base_reads_every_commit_once(tmp_path: Path) -> None:
    """Also with a cache of records that is much shorter than the way."""
    store = open_store(str(tmp_path))
    line: list[CommitRecord] = []
    for seq in range(1, 2_001):
        line.append(made_record("main", seq, seq, seq, line[-1].ref if line else None))
    theirs = made_record("b", 2, 5_000, 1, line[0].ref)
    for record in (*line, theirs):
        assert Chains(store).put(record)
    chains = Chains(store, capacity=100)
    with telemetry.measure() as counts:
        assert merge_base(chains, line[-1], theirs) == line[0]
    assert counts["objects.get"] <= 2_000
    assert counts["objects.get_missing"] <= 3
