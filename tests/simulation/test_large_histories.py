"""What operations ask of storage in a graph with 10 commits and 5 branches, and with 1,000 and 200.

`OMNIGRAPH_LARGE_HISTORY=20000/2000` runs the same with so many commits and branches.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.base.errors import NotFound
from omnigraph.base.ids import chain_of, new_commit_id, new_ulid
from omnigraph.graph.manifest import layout
from omnigraph.storage.objects.local import LocalStore
from support.large_history import large_history

FEW, MANY = (10, 5), (1_000, 200)
if given := os.environ.get("OMNIGRAPH_LARGE_HISTORY"):
    MANY = (int(given.split("/")[0]), int(given.split("/")[1]))
SOME_READS = 24
"""What finding a commit by its id may read, however many there are: a search by halves in one chain."""
A_PAGE = 64
"""Records that are read at once from where a commit would be."""


@dataclass(frozen=True)
class Pair:
    """The same kind of graph, small and large."""

    few: og.Graph
    many: og.Graph

    def counted(self, work: Callable[[og.Graph], object]) -> tuple[dict[str, int], dict[str, int]]:
        """Return what a piece of work asks of storage in each."""
        return counted(lambda: work(self.few)), counted(lambda: work(self.many))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large")


@pytest.fixture(scope="module")
def pair(folder: Path) -> Pair:
    graphs = [large_history(folder / f"{size[0]}-{size[1]}", *size) for size in (FEW, MANY)]
    for graph in graphs:
        # The last commits of main are of one kind in both.
        for number in range(3):
            graph.load([_person(f"last{number}")], mode="append")
    return Pair(*graphs)


def _person(name: str) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name}}


def counted(work: Callable[[], object]) -> dict[str, int]:
    """Return what a piece of work asks of storage."""
    with telemetry.measure() as counts:
        work()
    return counts.as_dict()


def reads(found: dict[str, int]) -> int:
    """Return how often something was read, or looked for."""
    return found.get("objects.get", 0) + found.get("objects.get_missing", 0)


@contextmanager
def watched_reads() -> Iterator[Counter[str]]:
    """Give how often each object is read in the block, missing ones left out."""
    seen: Counter[str] = Counter()
    read = LocalStore._get_or_none

    def watched(self: LocalStore, path: str) -> bytes | None:
        data = read(self, path)
        seen[path] += data is not None
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStore, "_get_or_none", watched)
        yield seen


def test_the_large_graph_is_large_and_sound(pair: Pair) -> None:
    assert len(pair.many.branches.list()) >= MANY[1]
    assert len(list((Path(pair.many.uri) / layout.CHAINS).rglob("*.json"))) >= 0.95 * MANY[0]
    assert len(pair.many.commits.list()) >= MANY[0] // 3
    assert any(commit.merged_parent for commit in pair.many.commits.list())


def test_listing_ten_commits_reads_as_many_as_it_lists(pair: Pair) -> None:
    def work(graph: og.Graph) -> None:
        fresh = og.open(graph.uri, read_only=True)
        snapshot = counted(fresh.snapshot)
        found = counted(lambda: fresh.commits.list(limit=10))
        assert set(found) <= {"objects.get", "objects.get_missing"}, "no listing"
        # Both parents of each, a floor for each chain, and what is read ahead.
        assert reads(found) <= 10 * 4, (found, snapshot)

    work(pair.few)
    work(pair.many)


def test_a_listing_does_not_read_what_lies_behind_its_last_commit(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        graph.snapshot()
        assert counted(lambda: graph.commits.list(limit=0)) == {"objects.get_missing": 1}  # noqa: B023
        assert counted(lambda: graph.commits.list(limit=1)) == {"objects.get_missing": 1}  # noqa: B023


def test_making_a_branch_costs_the_same(pair: Pair) -> None:
    few, many = pair.counted(lambda graph: graph.branches.create("made"))
    assert few == many


def test_a_merge_of_two_branches_costs_the_same(pair: Pair) -> None:
    def prepare(graph: og.Graph) -> None:
        for name in ("one", "two"):
            graph.branches.create(name)
            graph.load([_person(name)], mode="append", branch=name)

    prepare(pair.few)
    prepare(pair.many)
    few, many = pair.counted(lambda graph: graph.branches.merge("one", into="two"))
    assert few == many


def test_deleting_a_branch_costs_the_same(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        graph.branches.create("doomed")
    few, many = pair.counted(lambda graph: graph.branches.delete("doomed"))
    assert few == many


def _ask_for_an_unknown(graph: og.Graph, commit: str) -> dict[str, int]:
    """Return what a handle that knows the head of main asks of storage for a commit that is not there."""
    fresh = og.open(graph.uri, read_only=True)
    fresh.snapshot()

    def look() -> None:
        with pytest.raises(NotFound):
            fresh.commits.show(commit)

    return counted(look)


def test_an_unknown_commit_is_told_in_few_reads_and_one_look_at_what_follows_the_head(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        newest = graph.snapshot()
        found = _ask_for_an_unknown(graph, new_commit_id(chain_of(newest.commit_id)))
        assert found["objects.list"] == 1
        assert reads(found) <= SOME_READS, found
        # As old as one in the middle: from where it would be, a page is read.
        neighbour = graph.snapshot(version=newest.version // 2).commit_id
        found = _ask_for_an_unknown(graph, neighbour[:-4] + "0000")
        assert found["objects.list"] == 1
        assert reads(found) <= SOME_READS + A_PAGE, found


def test_an_unknown_commit_of_an_unknown_chain_is_told_by_one_look_where_its_chain_would_be(
    pair: Pair,
) -> None:
    # Its floor, its hint, and its folder, as a hint may be lost, and a branch or a tag of that name:
    # nothing of other chains is looked at.
    one_look = {"objects.get_missing": 3, "objects.list": 1}
    for graph in (pair.few, pair.many):
        assert _ask_for_an_unknown(graph, new_ulid()) == one_look


def test_a_commit_of_another_branch_is_found_by_its_id_in_few_reads(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        branch = graph.branches.list()[len(graph.branches.list()) // 2]
        wanted = graph.snapshot(branch).commit_id
        fresh = og.open(graph.uri, read_only=True)
        fresh.snapshot()
        found = counted(lambda: fresh.commits.show(wanted))  # noqa: B023
        assert found["objects.list"] == 1
        assert reads(found) <= SOME_READS, found


def _clean(graph: og.Graph) -> None:
    """Clean up until there is nothing to do."""
    while (done := graph.cleanup()).files or done.records_removed or done.schemas_removed:
        pass


def test_a_cleanup_that_has_nothing_to_do_opens_no_table_and_reads_each_record_once(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        _clean(og.open(graph.uri))
        fresh = og.open(graph.uri)
        branches = len(fresh.branches.list())
        with watched_reads() as seen:
            found = counted(fresh.cleanup)
        assert "tables.open" not in found
        assert "objects.create" not in found, "no fence"
        records = {path: times for path, times in seen.items() if path.startswith(layout.CHAINS)}
        again = sum(records.values()) - len(records)
        # Heads are looked for before and after; the record that a hint names, for one chain in a few.
        assert again <= 2 * branches, (again, len(records))
        assert sum(seen.values()) - sum(records.values()) <= 10 * branches + 20


def test_a_repair_that_has_nothing_to_do_reads_each_record_once(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        fresh = og.open(graph.uri)
        with watched_reads() as seen:
            done = fresh.repair()
        assert done.ok
        records = {path: times for path, times in seen.items() if path.startswith(layout.CHAINS)}
        assert set(records.values()) == {1}
        assert len(records) >= done.commits


def test_a_repair_opens_no_versions_but_those_of_heads_when_a_cleanup_has_seen_them(pair: Pair) -> None:
    for graph in (pair.few, pair.many):
        _clean(og.open(graph.uri))
        fresh = og.open(graph.uri)
        heads = {fresh.snapshot(branch).commit_id for branch in fresh.branches.list()}
        with telemetry.measure() as counts:
            assert fresh.repair().ok
        assert counts["tables.open"] <= 2 * len(heads)
