"""Loads beside cleanups: what a long write stands on, and has staged, is there until it is published."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.manifest.condemned import KEPT_LISTS
from omnigraph.graph.write import base_hold
from support.care import at_once
from support.interleaving import NAMES, assert_sound, at, names, put

PEOPLE = """
node Person { name: String @key }
node Place { name: String @key }
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    og.init(tmp_path / "graph", PEOPLE)
    yield str(tmp_path / "graph")
    failpoints._armed.clear()


def commit_and_clean_up(root: str, *people: str) -> None:
    other = og.open(root)
    put(other, *people)
    assert other.cleanup(keep=1).commits_dropped


def records(*people: str) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"name": name}} for name in people]


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_goes_on_when_cleanups_take_what_it_was_being_prepared_on(root: str, mode: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")

    def between() -> None:
        commit_and_clean_up(root, "c")
        at(Failpoint.WRITE_AFTER_TABLE_COMMIT, lambda: commit_and_clean_up(root, "d"))

    at(Failpoint.WRITE_AFTER_STAGE, between)
    graph.load(records("loaded", "a2" if mode == "append" else "a"), mode=mode)
    assert "loaded" in names(root)
    assert_sound(root)


def test_a_load_is_staged_again_when_a_cleanup_has_condemned_its_files(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")
    at(Failpoint.WRITE_AFTER_ALL_TABLES, lambda: commit_and_clean_up(root, "c"))
    done = graph.load(records("loaded"), mode="append")
    assert names(root) == ["a", "b", "c", "loaded"]
    assert [commit.id for commit in graph.commits.list()].count(done.commit_id or "") == 1
    assert_sound(root)


def test_a_load_begins_again_when_a_cleanup_takes_what_it_began_from(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")

    def mixed() -> Iterator[dict[str, Any]]:
        yield {"type": "Person", "data": {"name": "loaded"}}
        commit_and_clean_up(root, "c")
        yield {"type": "Place", "data": {"name": "here"}}

    graph.load(mixed(), mode="append")
    assert names(root) == ["a", "b", "c", "loaded"]
    assert_sound(root)


@pytest.mark.parametrize("point", [Failpoint.WRITE_AFTER_TABLE_COMMIT, Failpoint.WRITE_AFTER_ALL_TABLES])
@pytest.mark.parametrize(
    "statement", ['insert Person { name: "new" }', 'delete Person where name = "a"'], ids=["insert", "delete"]
)
def test_a_mutation_goes_on_when_a_cleanup_drops_what_it_stands_on_and_spares_its_young_files(
    root: str, monkeypatch: pytest.MonkeyPatch, statement: str, point: Failpoint
) -> None:
    monkeypatch.delenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS")
    graph = og.open(
        root, storage_options={"fsync": "true"}
    )  # what is flushed is compared with what it follows
    put(graph, "a", "b")
    at(point, lambda: commit_and_clean_up(root, "c"))
    assert graph.mutate(f"query q() {{ {statement} }}").affected_nodes == 1
    assert names(root) == (["a", "b", "c", "new"] if "insert" in statement else ["b", "c"])
    assert_sound(root)


def test_an_overwrite_goes_on_when_only_maintenance_came_between(root: str) -> None:
    graph = og.open(root)
    for number in range(3):
        put(graph, f"a{number}")

    def maintain() -> None:
        other = og.open(root)
        other.optimize()
        other.cleanup(keep=1)

    at(Failpoint.WRITE_AFTER_STAGE, maintain)
    graph.load(records("only"), mode="overwrite")
    assert names(root) == ["only"]


def test_a_held_base_stays_and_so_do_files_that_were_staged_for_it(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_hold, "_FIRST_SECONDS", 0.0)
    graph = og.open(root)
    put(graph, "a", "b")
    began = graph.snapshot().commit_id
    seen: list[tuple[int, int]] = []
    placed = threading.Event()
    place = base_hold.BaseHold.place

    def place_and_tell(self: base_hold.BaseHold) -> None:
        place(self)
        placed.set()

    monkeypatch.setattr(base_hold.BaseHold, "place", place_and_tell)

    def between() -> None:
        assert placed.wait(30)
        other = og.open(root)
        put(other, "c")
        done = other.cleanup(keep=1)
        assert other.snapshot(commit=began).commit_id == began
        seen.append((done.files, sum(table.waiting.files for table in done.tables)))

    at(Failpoint.WRITE_AFTER_ALL_TABLES, between)
    graph.load(records("loaded"), mode="append")
    assert seen and seen[0][1] > 0, "what was staged was not left alone"
    assert names(root) == ["a", "b", "c", "loaded"]
    assert not [tag for tag in graph.internals.core.truth.tags.list() if tag.name.startswith("__write/")]
    assert graph.tags.list() == []
    og.open(root).cleanup(keep=1)
    with pytest.raises(og.NotFound):
        graph.snapshot(commit=began)


def test_a_hold_that_nobody_renews_is_ignored(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = og.open(root)
    put(graph, "a")
    core = graph.internals.core
    hold = base_hold.BaseHold(core.truth, core.settings, None, graph.internals.read_state().head)
    hold.place()
    began = graph.snapshot().commit_id
    put(graph, "b", "c")
    graph.cleanup(keep=1)
    assert graph.snapshot(commit=began)
    monkeypatch.setenv("OMNIGRAPH_WRITE_HOLD_SECONDS", "0")
    og.open(root).cleanup(keep=1)
    with pytest.raises(og.NotFound):
        og.open(root).snapshot(commit=began)
    hold.renew()  # its writer lives after all: nothing is held, and nothing is broken
    assert_sound(root)


def test_a_write_that_reads_lists_in_time_survives_more_cleanups_than_lists_are_kept(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "3600")
    monkeypatch.setattr(base_hold, "_FIRST_SECONDS", 0.0)
    looks: list[Any] = []
    monkeypatch.setattr(base_hold, "_keep", lambda hold, look, over: looks.append(look))
    graph = og.open(root)
    put(graph, "a", "b")

    def between() -> None:
        for number in range(KEPT_LISTS + 4):
            commit_and_clean_up(root, f"x{number}")
            if number % 4 == 0:
                looks[0]()

    at(Failpoint.WRITE_AFTER_STAGE, between)
    graph.load(records("loaded"), mode="append")
    assert "loaded" in names(root)
    assert_sound(root)


def test_lists_that_are_read_late_prove_nothing(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")
    lists = graph.internals.core.truth.condemned
    before = lists.newest()
    for number in range(KEPT_LISTS + 2):
        commit_and_clean_up(root, f"x{number}")
    assert lists.read_since(before) is None
    assert lists.read_since(lists.newest()) == (lists.newest(), frozenset())


def test_a_load_of_many_batches_beside_a_cleanup_all_the_time(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_hold, "_FIRST_SECONDS", 0.05)
    monkeypatch.setattr(base_hold, "_LOOK_SECONDS", 0.05)
    over, wrong = threading.Event(), list[BaseException]()
    graph = og.open(root)
    put(graph, "a", "b")

    def maintain() -> None:
        other, number = og.open(root), 0
        while not over.is_set():
            number += 1
            try:
                put(other, f"x{number}")
                other.cleanup(keep=1)
            except og.Contention:
                continue
            except BaseException as error:
                wrong.append(error)
                return

    keeper = threading.Thread(target=maintain)
    keeper.start()
    try:
        for batch in range(12):
            mode = ("append", "merge")[batch % 2]
            again = ["p0-0"] * (batch % 2)
            graph.load(records(*(f"p{batch}-{row}" for row in range(50)), *again), mode=mode)
    finally:
        over.set()
        keeper.join()
    assert not wrong
    assert [name for name in names(root) if name.startswith("p")] == sorted(
        f"p{batch}-{row}" for batch in range(12) for row in range(50)
    )
    assert_sound(root)


def test_a_load_whose_records_could_not_all_be_made_is_never_committed(root: str) -> None:
    graph = og.open(root)
    old = put(graph, "a")
    put(graph, "b", "c")

    def copied() -> Iterator[dict[str, Any]]:
        yield from records("given")
        commit_and_clean_up(root, "d")  # takes what is copied here: a load does not begin again after that
        for row in graph.snapshot(commit=old).query(NAMES).rows:
            yield from records(f"copy of {row['name']}")

    with pytest.raises(og.Contention) as caught:
        graph.load(copied(), mode="append")
    assert isinstance(caught.value.__cause__, og.HistoricalVersionReclaimed)
    assert names(root) == ["a", "b", "c", "d"]
    assert_sound(root)


def test_a_patch_keeps_what_another_branch_has_brought_under_the_same_number(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    graph = og.init(root, "node Person { name: String @key  a: I64?  b: I64? }")
    change = "query q($name: String, $to: I64) { upsert Person { name: $name a: $to b: $to } }"
    graph.mutate(change, {"name": "x", "to": 1})
    graph.branches.create("side")
    graph.mutate(change, {"name": "x", "to": 2})
    graph.mutate(change, {"name": "x", "to": 3}, branch="side")
    other = graph.snapshot(branch="side").commit_id
    assert versions(graph, "main") == versions(graph, "side")
    at(Failpoint.WRITE_AFTER_STAGE, lambda: og.open(root).branches.reset("main", other))
    graph.load([{"type": "Person", "data": {"name": "x", "a": 9}}], mode="patch")
    found = og.open(root).query("query q() { match { $p: Person } return { $p.a as a, $p.b as b } }").rows
    assert found == [{"a": 9, "b": 3}]


def versions(graph: og.Graph, branch: str) -> list[int]:
    return [table.version for table in graph.snapshot(branch=branch).tables]


def test_a_load_is_staged_again_when_its_files_are_gone_and_the_list_was_read(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_hold, "_FIRST_SECONDS", 0.0)
    looks: list[Any] = []
    monkeypatch.setattr(base_hold, "_keep", lambda hold, look, over: looks.append(look))
    graph = og.open(root)
    put(graph, "a", "b")

    def between() -> None:
        commit_and_clean_up(root, "c")
        looks[0]()

    at(Failpoint.WRITE_AFTER_ALL_TABLES, between)
    graph.load(records("loaded"), mode="append")
    assert names(root) == ["a", "b", "c", "loaded"]
    assert_sound(root)


def test_a_load_into_a_new_branch_is_told_that_a_cleanup_took_what_it_began_from(root: str) -> None:
    graph = og.open(root)
    put(graph, "a", "b")

    def mixed() -> Iterator[dict[str, Any]]:
        yield from records("loaded")
        commit_and_clean_up(root, "c")
        yield {"type": "Place", "data": {"name": "here"}}

    with pytest.raises(og.Contention):
        graph.load(mixed(), mode="append", branch="new", from_branch="main")
    assert graph.branches.list() == ["main"]
    graph.load(records("loaded"), mode="append", branch="new", from_branch="main")
    assert names(root, branch="new") == ["a", "b", "c", "loaded"]
    assert_sound(root)


def test_a_hold_of_what_a_cleanup_has_dropped_leaves_nothing_behind(root: str) -> None:
    graph = og.open(root)
    put(graph, "a")
    dropped = graph.snapshot().record
    commit_and_clean_up(root, "b", "c")
    core = og.open(root).internals.core
    base_hold.BaseHold(core.truth, core.settings, None, dropped).place()
    assert list(Path(root).glob("__manifest/tags/*")) == []
