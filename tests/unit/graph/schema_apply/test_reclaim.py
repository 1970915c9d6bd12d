"""Hard drops: what is reclaimed right after the publish, and what others keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.schema_apply import reclaim
from support.care import at_once, files
from support.interleaving import Killed, at, die

WITH_CITY = "node Person { name: String @key  age: I32? }\nnode City { name: String @key }"
WITHOUT_CITY = "node Person { name: String @key  age: I32? }"
WITHOUT_AGE = "node Person { name: String @key }\nnode City { name: String @key }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", WITH_CITY, actor="act-ada")
    for number in range(3):
        gq = "query q($n: String, $a: I32) { insert Person { name: $n age: $a } insert City { name: $n } }"
        graph.mutate(gq, {"n": f"x{number}", "a": number})
    return graph


def _folder(graph: og.Graph, key: str) -> str:
    return graph.snapshot().record.by_key()[key].location


def test_a_type_that_is_dropped_hard_is_gone_from_storage(graph: og.Graph) -> None:
    folder = _folder(graph, "node:City")
    done = graph.schema.apply(WITHOUT_CITY, allow_data_loss=True)
    assert done.applied
    assert not [name for name in files(Path(graph.uri), folder) if "latest_version_hint" not in name]
    for version in range(1, 5):
        old = graph.snapshot(version=version)
        with pytest.raises(HistoricalVersionReclaimed):
            old.table("node:City").scan()
        assert old.table("node:Person").count() == version - 1
    assert graph.repair().ok
    assert graph.cleanup().commits_dropped == 0


def test_a_soft_drop_keeps_what_was(graph: og.Graph) -> None:
    graph.schema.apply(WITHOUT_CITY, allow_drop=True)
    assert graph.snapshot(version=4).table("node:City").count() == 3


def test_a_property_that_is_dropped_hard_takes_the_older_versions_of_its_table(graph: og.Graph) -> None:
    graph.schema.apply(WITHOUT_AGE, allow_data_loss=True)
    assert graph.snapshot().table("node:Person").scan().column_names == ["id", "name"]
    with pytest.raises(HistoricalVersionReclaimed):
        graph.snapshot(version=3).table("node:Person").scan()
    assert graph.snapshot(version=3).table("node:City").count() == 2
    assert graph.repair().ok


def test_what_a_branch_or_tag_stands_on_stays_until_it_does_not(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.tags.create("v1", commit=graph.snapshot(version=2).commit_id)
    graph.branches.create("dev")
    folder = _folder(graph, "node:City")
    graph.schema.apply(WITHOUT_CITY, allow_data_loss=True)
    assert graph.snapshot(tag="v1").table("node:City").count() == 1
    assert graph.snapshot("dev").table("node:City").count() == 3
    with pytest.raises(HistoricalVersionReclaimed):
        graph.snapshot(version=3).table("node:City").scan()
    graph.mutate('query q() { insert City { name: "more" } }', branch="dev")
    assert graph.snapshot("dev").table("node:City").count() == 4
    graph.branches.delete("dev")
    graph.tags.delete("v1")
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    og.open(graph.uri).cleanup()
    assert not files(Path(graph.uri), folder)
    assert graph.snapshot(version=2).table("node:Person").count() == 1


def test_a_tag_on_a_commit_that_has_lost_a_table_is_refused(graph: og.Graph) -> None:
    old = graph.snapshot(version=3).commit_id
    graph.schema.apply(WITHOUT_CITY, allow_data_loss=True)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.tags.create("late", commit=old)
    assert graph.tags.list() == []


def test_a_reclaim_that_fails_leaves_a_soft_drop_and_the_change(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> None:
        raise OSError("the disk says no")

    monkeypatch.setattr(reclaim, "cleanup", failing)
    assert graph.schema.apply(WITHOUT_CITY, allow_data_loss=True).applied
    with pytest.raises(NotFound):
        graph.snapshot().table("node:City")
    assert graph.snapshot(version=4).table("node:City").count() == 3


@pytest.mark.parametrize("point", ["publish.after_record", "cleanup.after_survey", "cleanup.after_proposals"])
def test_a_hard_drop_that_was_cut_off_before_it_removed_anything_is_done_by_the_next_cleanup(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    folder = _folder(graph, "node:City")
    at(Failpoint(point), die)
    with pytest.raises(Killed):
        graph.schema.apply(WITHOUT_CITY, allow_data_loss=True)
    assert graph.snapshot(version=4).table("node:City").count() == 3
    again = og.open(graph.uri)
    assert again.cleanup().commits_dropped == 0
    assert not [name for name in files(Path(graph.uri), folder) if "latest_version_hint" not in name]
    with pytest.raises(HistoricalVersionReclaimed):
        again.snapshot(version=3).table("node:City").scan()
    assert again.snapshot(version=3).table("node:Person").count() == 2
    assert again.repair(scrub=True).ok
    assert again.cleanup().files == 0


def test_a_hard_drop_that_is_done_later_leaves_branches_and_tags_what_they_stand_on(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph.branches.create("dev")
    graph.tags.create("v1", commit=graph.snapshot(version=2).commit_id)
    at(Failpoint.CLEANUP_AFTER_SURVEY, die)
    with pytest.raises(Killed):
        graph.schema.apply(WITHOUT_AGE, allow_data_loss=True)
    again = og.open(graph.uri)
    again.branches.create("late", commit=again.snapshot(version=3).commit_id)
    again.cleanup()
    for where, count in ({"tag": "v1"}, 1), ({"branch": "late"}, 2), ({"branch": "dev"}, 3):
        assert og.open(graph.uri).snapshot(**where).table("node:Person").scan().num_rows == count
    assert og.open(graph.uri).repair(scrub=True).ok
    again.branches.delete("late")
    again.cleanup()
    with pytest.raises(HistoricalVersionReclaimed):
        again.snapshot(version=3).table("node:Person").scan()


@pytest.mark.parametrize("point", ["cleanup.after_floors", "cleanup.after_fences", "cleanup.before_delete"])
def test_a_reclaim_that_is_cut_off_never_fails_the_change_and_cleanup_finishes(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    folder = _folder(graph, "node:City")
    with failpoints.arm_temporarily(point, "raise"):
        assert graph.schema.apply(WITHOUT_CITY, allow_data_loss=True).applied
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    again = og.open(graph.uri)
    again.cleanup()
    assert not files(Path(graph.uri), folder)
    assert again.repair().ok


CITIES = "query q() { match { $c: City } return { $c.name } }"
PEOPLE = "query q() { match { $p: Person } return { $p.name, $p.age } }"


def test_what_was_dropped_hard_is_not_read_from_memory_by_the_handle_that_did_it(graph: og.Graph) -> None:
    old = graph.snapshot()
    assert len(old.query(CITIES)) == 3
    assert len(list(graph.export(snapshot=old, types=["City"]))) == 3  # type: ignore[arg-type]
    graph.schema.apply(WITHOUT_CITY, allow_data_loss=True)
    with pytest.raises(HistoricalVersionReclaimed):
        old.query(CITIES)
    with pytest.raises(HistoricalVersionReclaimed):
        list(graph.export(snapshot=old, types=["City"]))  # type: ignore[arg-type]
    with pytest.raises(HistoricalVersionReclaimed):
        old.table("node:City")
    assert len(old.query(PEOPLE)) == 3


def test_another_handle_reads_it_no_more_once_it_has_looked_at_the_graph_again(graph: og.Graph) -> None:
    other = og.open(graph.uri, read_only=True)
    old = other.snapshot()
    assert len(old.query(CITIES)) == 3
    assert len(old.query(PEOPLE)) == 3
    graph.schema.apply(WITHOUT_AGE.replace("node City { name: String @key }", ""), allow_data_loss=True)
    assert len(other.query("query q() { match { $p: Person } return { $p.name } }")) == 3
    for text in (CITIES, PEOPLE):
        with pytest.raises(HistoricalVersionReclaimed):
            old.query(text)


def test_a_soft_drop_leaves_what_was_read_in_memory(graph: og.Graph) -> None:
    old = graph.snapshot()
    graph.schema.apply(WITHOUT_CITY, allow_drop=True)
    assert len(old.query(CITIES)) == 3


def test_only_true_allows_data_to_be_lost(graph: og.Graph) -> None:
    for call in (graph.schema.plan, graph.schema.apply):
        with pytest.raises(og.BadInput, match="allow_data_loss is True or False"):
            call(WITHOUT_CITY, allow_data_loss="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["delete", "rename"])
def test_what_a_branch_has_dropped_for_good_is_no_damage_when_the_branch_has_ended(
    graph: og.Graph, end: str
) -> None:
    graph.branches.create("side")
    side = og.open(graph.uri, branch="side")
    side.mutate('query q() { insert City { name: "of side" } }')
    side.schema.apply(WITHOUT_CITY, allow_data_loss=True)
    if end == "delete":
        graph.branches.delete("side")
    else:
        graph.branches.rename("side", "other")
    assert og.open(graph.uri).repair(scrub=True).ok
