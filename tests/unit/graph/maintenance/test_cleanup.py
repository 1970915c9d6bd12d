"""Cleanup: what stays, what goes, and what is said of it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import (
    BadInput,
    Contention,
    CorruptState,
    HistoricalVersionReclaimed,
    NotFound,
    ReadOnly,
    UnreadablePlan,
)
from omnigraph.base.failpoints import InjectedFault
from omnigraph.graph.maintenance.cleanup import cleanup as cleaning
from omnigraph.storage.objects import open_store
from support.care import (
    DELETE,
    PEOPLE,
    UPDATE,
    assert_kept,
    at_once,
    cleaned,
    files,
    fill,
    open_again,
    remembered,
)
from support.compaction import Compaction
from support.graphs import contents, fingerprint
from support.s3 import S3


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", PEOPLE, actor="act-ada")


def test_the_newest_commits_of_every_branch_stay(graph: og.Graph) -> None:
    made = fill(graph, 8)
    graph.branches.create("dev")
    own = fill(graph, 4, 20, "dev")
    said = remembered(graph)
    done = cleaned(graph, keep=3)
    assert done.files > 0
    assert done.bytes > 0
    assert_kept(graph, said, [*made[-3:], *own[-3:]])
    assert [commit.version for commit in graph.commits.list() if not commit.maintenance] == [9, 8, 7]


def test_a_fresh_branch_keeps_the_commits_that_it_began_with(graph: og.Graph) -> None:
    made = fill(graph, 6)
    graph.branches.create("dev")
    made += fill(graph, 6, 10)
    said = remembered(graph)
    cleaned(graph, keep=2)
    assert_kept(graph, said, [*made[4:6], *made[-2:]])
    assert open_again(graph.uri).snapshot("dev", version=7).table("node:Person").count() == 6


def test_commits_that_are_young_stay(graph: og.Graph) -> None:
    made = fill(graph, 4)
    said = remembered(graph)
    assert cleaned(graph, older_than=timedelta(hours=1)).commits_dropped == 0
    assert cleaned(graph, older_than="0s").commits_dropped == 4
    assert_kept(graph, said, made[-1:])


def test_a_commit_goes_only_when_both_limits_let_it_go(graph: og.Graph) -> None:
    fill(graph, 4)
    assert cleaned(graph, keep=1, older_than="1h").commits_dropped == 0
    assert cleaned(graph, keep=3, older_than="0s").commits_dropped == 2


def test_without_limits_every_commit_stays(graph: og.Graph) -> None:
    fill(graph, 4)
    said = remembered(graph)
    assert cleaned(graph).commits_dropped == 0
    assert_kept(graph, said, said)


def test_a_tag_keeps_its_commit_and_letting_it_go_frees_it(graph: og.Graph) -> None:
    made = fill(graph, 5)
    said = remembered(graph)
    graph.tags.create("v1", commit=made[1])
    cleaned(graph, keep=1)
    assert_kept(graph, said, [made[1], made[-1]])
    fresh = open_again(graph.uri)
    assert contents(fresh.snapshot(tag="v1")) == said[made[1]]
    assert fresh.commits.show(made[1]).version == 3
    graph.tags.delete("v1")
    cleaned(graph, keep=1)
    assert_kept(graph, said, made[-1:])


def test_a_tag_outlives_its_branch(graph: og.Graph) -> None:
    fill(graph, 2)
    graph.branches.create("dev")
    own = fill(graph, 3, 10, "dev")
    said = remembered(graph)
    graph.tags.create("kept", commit=own[1])
    graph.branches.delete("dev")
    cleaned(graph)
    cleaned(graph)
    fresh = open_again(graph.uri)
    assert contents(fresh.snapshot(tag="kept")) == said[own[1]]
    assert contents(fresh.snapshot(commit=own[1])) == said[own[1]]
    with pytest.raises(NotFound):
        fresh.snapshot(commit=own[2])


def test_nothing_is_left_of_a_deleted_branch(graph: og.Graph) -> None:
    root = Path(graph.uri)
    fill(graph, 2)
    cleaned(graph)
    fence = len(files(root, "__manifest", "chains"))
    graph.branches.create("dev")
    incarnation = json.loads((root / "__manifest/branches/dev.json").read_bytes())["incarnation"]
    fill(graph, 20, 10, "dev")
    graph.branches.delete("dev")
    cleaned(graph)
    cleaned(graph)
    assert not [name for name in files(root, "__manifest") if incarnation in name]
    assert len(files(root, "__manifest", "chains")) == fence + 1
    assert not [name for name in files(root) if "r10" in name]


def test_deleted_rows_rewritten_files_and_cut_off_writes_go(graph: og.Graph) -> None:
    fill(graph, 3)
    for number in range(3):
        graph.mutate(UPDATE, {"n": f"p{number}", "t": "new"})
    graph.mutate(DELETE, {"n": "p0"})
    graph.commit_work(Compaction())
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        fill(graph, 1, 50)
    said = contents(graph.snapshot())
    cleaned(graph, keep=1)
    fresh = open_again(graph.uri)
    assert contents(fresh.snapshot()) == said
    (person,) = {
        table.location for table in fresh.cleanup(dry_run=True).tables if "Person" in table.table_key
    }
    assert len(files(Path(graph.uri), person, "data")) == 1


def test_a_dropped_table_goes_with_the_last_commit_that_had_it(graph: og.Graph) -> None:
    fill(graph, 2)
    with_edges = graph.snapshot().commit_id
    graph.schema.apply("node Person { name: String @key  note: String? }", allow_drop=True)
    assert files(Path(graph.uri), "edges")
    cleaned(graph)
    assert graph.snapshot(commit=with_edges).table("edge:Knows").count() == 0
    done = cleaned(graph, keep=1)
    assert not files(Path(graph.uri), "edges")
    assert "edge:Knows" in {table.table_key for table in done.tables}
    assert done.schemas_removed == 1


def test_a_dry_run_changes_nothing(graph: og.Graph) -> None:
    fill(graph, 5)
    before = fingerprint(Path(graph.uri))
    reader = og.open(graph.uri, read_only=True)
    found = reader.cleanup(keep=1, dry_run=True)
    assert found.dry_run
    assert found.commits_dropped == 5
    assert found.bytes == sum(table.removed.bytes for table in found.tables) > 0
    assert fingerprint(Path(graph.uri)) == before
    with pytest.raises(ReadOnly):
        reader.cleanup(keep=1)


def test_a_second_cleanup_finds_nothing(graph: og.Graph) -> None:
    fill(graph, 5)
    cleaned(graph, keep=2)
    before = fingerprint(Path(graph.uri) / "nodes")
    again = cleaned(graph, keep=2)
    assert (again.files, again.commits_dropped) == (0, 0)
    assert fingerprint(Path(graph.uri) / "nodes") == before


def test_files_that_no_commit_has_named_wait_for_the_grace_period(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(graph, 1)
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        fill(graph, 1, 50)
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "3600")
    waiting = open_again(graph.uri).cleanup()
    assert waiting.files == 0
    assert sum(table.waiting.files for table in waiting.tables) > 0
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    assert open_again(graph.uri).cleanup().files == sum(table.waiting.files for table in waiting.tables)


def test_history_goes_on_after_a_cleanup(graph: og.Graph) -> None:
    fill(graph, 40)
    cleaned(graph, keep=2)
    more = fill(graph, 40, 100)
    said = remembered(graph)
    fresh = open_again(graph.uri)
    assert fresh.snapshot().table("node:Person").count() == 80
    for commit in more:
        assert fresh.commits.show(commit).id == commit
    cleaned(graph, keep=2)
    assert_kept(open_again(graph.uri), said, more[-2:])
    assert open_again(graph.uri).repair().ok


def test_an_old_version_is_typed_by_number_and_by_id_in_old_and_new_handles(graph: og.Graph) -> None:
    made = fill(graph, 5)
    warm = open_again(graph.uri)
    old = warm.snapshot(version=2)
    assert old.table("node:Person").count() == 1
    cleaned(graph, keep=1)
    for handle in (warm, open_again(graph.uri)):
        with pytest.raises(HistoricalVersionReclaimed):
            handle.snapshot(version=2)
        with pytest.raises(HistoricalVersionReclaimed):
            handle.snapshot(commit=made[0])
        assert handle.snapshot().table("node:Person").count() == 5
    warm.close()
    with pytest.raises(HistoricalVersionReclaimed):
        old.table("node:Person").scan()
    with pytest.raises(NotFound) as never:
        graph.snapshot(commit="7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
    assert type(never.value) is NotFound


@pytest.mark.long
def test_a_thousand_commits_leave_a_bounded_number_of_versions(graph: og.Graph) -> None:
    root = Path(graph.uri)
    for number in range(1_000):
        graph.mutate(
            UPDATE
            if number % 2
            else "query q($n: String, $t: String) { insert Person { name: $n note: $t } }",
            {"n": "one", "t": str(number)},
        )
    done = graph.cleanup(keep=10)
    assert done.commits_dropped > 980
    assert len(graph.commits.list()) == 11
    assert len(files(root, "__manifest", "chains")) == 11
    assert len([name for name in files(root) if name.endswith(".manifest")]) <= 12
    assert len(files(root)) < 150


def test_merges_work_on_after_a_cleanup_that_kept_one_commit(graph: og.Graph) -> None:
    fill(graph, 3)
    graph.branches.create("dev")
    fill(graph, 2, 10, "dev")
    fill(graph, 2, 20)
    assert graph.branches.merge("dev").outcome == "merged"
    fill(graph, 3, 30, "dev")
    graph.mutate(UPDATE, {"n": "p10", "t": "changed after the merge"}, branch="dev")
    fill(graph, 3, 40)
    cleaned(graph, keep=1)
    merged = open_again(graph.uri).branches.merge("dev")
    assert merged.outcome == "merged"
    assert merged.counts["node:Person"].inserted == 3
    assert merged.counts["node:Person"].updated == 1
    assert graph.branches.merge("dev").outcome == "already_up_to_date"


def test_commits_of_a_deleted_branch_stay_while_they_are_part_of_history(graph: og.Graph) -> None:
    fill(graph, 2)
    graph.branches.create("dev")
    own = fill(graph, 2, 10, "dev")
    fill(graph, 1, 20)
    graph.branches.merge("dev", delete_branch=True)
    said = remembered(graph)
    cleaned(graph)
    assert_kept(graph, said, said)
    assert {commit.id for commit in graph.commits.list()} >= set(own)
    cleaned(graph, keep=1)
    assert not {commit.id for commit in graph.commits.list()} & set(own)
    assert graph.snapshot().table("node:Person").count() == 5


def test_an_unreadable_plan_or_branch_stops_it_before_anything_goes(graph: og.Graph) -> None:
    root = Path(graph.uri)
    fill(graph, 5)
    (root / "__recovery").mkdir(exist_ok=True)
    (root / "__recovery/bad.json").write_text('{"format": 99}')
    before = fingerprint(root)
    with pytest.raises(UnreadablePlan):
        graph.cleanup(keep=1)
    assert fingerprint(root) == before
    (root / "__recovery/bad.json").unlink()
    (root / "__manifest/branches").mkdir(exist_ok=True)
    (root / "__manifest/branches/dev.json").write_text("{")
    with pytest.raises(CorruptState):
        graph.cleanup(keep=1)
    assert fingerprint(root / "nodes") == {
        name.removeprefix("nodes/"): value for name, value in before.items() if name.startswith("nodes/")
    }


def test_a_kept_version_that_cannot_be_opened_stops_it(graph: og.Graph) -> None:
    fill(graph, 5)
    entry = graph.snapshot(version=3).record.by_key()["node:Person"]
    (Path(graph.uri) / entry.location / entry.pin.path).unlink()
    before = files(Path(graph.uri), "nodes")
    with pytest.raises(CorruptState, match="repair"):
        graph.cleanup()
    assert files(Path(graph.uri), "nodes") == before


@pytest.mark.parametrize("lost", [1, 2, 3])
@pytest.mark.parametrize("cleaned", [False, True])
def test_a_lost_record_stops_it_whichever_it_is(graph: og.Graph, lost: int, cleaned: bool) -> None:
    fill(graph, 4)
    if cleaned:
        graph.tags.create("early", graph.commits.list()[-lost].id)
        graph.cleanup(keep=1)
    chain = Path(graph.uri) / "__manifest/chains" / graph.snapshot().record.incarnation
    records = sorted(chain.glob("*/*"))
    next(path for path in records if path.name == f"{lost:020d}.json").unlink()
    with pytest.raises(CorruptState, match=f"{lost}.* is missing"):
        og.open(graph.uri).cleanup(keep=1)
    assert "record_missing" in [item.code for item in og.open(graph.uri).repair().findings]


@pytest.mark.parametrize("how", ["missing", "cut off"])
@pytest.mark.parametrize("fresh", [True, False], ids=["opened", "known"])
def test_a_file_of_a_kept_version_that_is_damaged_stops_it(graph: og.Graph, how: str, fresh: bool) -> None:
    """What would go may be the last whole version of the table."""
    fill(graph, 2)
    if not fresh:
        graph.cleanup()
    entry = graph.snapshot().record.by_key()["node:Person"]
    data = Path(graph.uri, entry.location, "data")
    before = set(data.iterdir())
    graph.mutate('query q() { insert Person { name: "new" } }')
    if not fresh:
        graph.cleanup()
    [new] = set(data.iterdir()) - before
    new.unlink() if how == "missing" else new.write_bytes(new.read_bytes()[:100])
    stored = {path for path in Path(graph.uri).rglob("*") if path.is_file()}
    with pytest.raises(og.CorruptState, match=f"nothing was removed.*{new.name}"):
        og.open(graph.uri).cleanup(keep=1)
    assert stored <= set(Path(graph.uri).rglob("*"))


def test_a_table_that_fails_is_reported_and_the_others_are_swept(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(graph, 4)
    graph.mutate('query q() { insert Knows { from: "p0" to: "p1" } }')
    graph.mutate('query q() { insert Knows { from: "p1" to: "p2" } }')
    real = cleaning.sweep.__globals__["remove_files"]

    def failing(store: Any, paths: Any) -> None:
        if paths[0].startswith("edges/"):
            raise InjectedFault("the disk says no")
        real(store, paths)

    monkeypatch.setitem(cleaning.sweep.__globals__, "remove_files", failing)
    done = graph.cleanup(keep=1)
    assert done.errors == {"edge:Knows": "the disk says no"}
    assert done.records_removed == 0
    monkeypatch.undo()
    at_once(monkeypatch)
    again = open_again(graph.uri).cleanup(keep=1)
    assert not again.errors
    assert {table.table_key for table in again.tables if table.removed.files} == {"edge:Knows"}
    assert again.records_removed > 0


def test_another_cleanup_at_the_same_time_is_told(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(graph, 6)
    other = open_again(graph.uri)
    real = cleaning.survey

    def surveyed(truth: Any) -> Any:
        found = real(truth)
        monkeypatch.setattr(cleaning, "survey", real)
        other.cleanup(keep=1)
        return found

    monkeypatch.setattr(cleaning, "survey", surveyed)
    with pytest.raises(Contention, match="another cleanup"):
        graph.cleanup(keep=3)
    assert open_again(graph.uri).repair().ok


@pytest.mark.parametrize(
    "given",
    [{"keep": 0}, {"keep": True}, {"older_than": "soon"}, {"older_than": 7}, {"older_than": "9" * 400 + "d"}],
)
def test_a_wrong_limit_is_told_before_anything_happens(graph: og.Graph, given: dict[str, Any]) -> None:
    before = fingerprint(Path(graph.uri))
    with pytest.raises(BadInput):
        graph.cleanup(**given)
    assert fingerprint(Path(graph.uri)) == before


@pytest.mark.s3
def test_it_works_the_same_over_s3(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/graph", PEOPLE, storage_options=s3.options)
    made = fill(graph, 5)
    graph.branches.create("dev")
    graph.tags.create("v1", commit=made[1])
    said = remembered(graph)
    done = cleaned(graph, keep=2)
    assert done.files > 0
    assert_kept(open_again(graph.uri, s3.options), said, [made[1], *made[-2:]])
    store = open_store(graph.uri, s3.options)
    assert len(list(store.list("__manifest/chains"))) == 5
    assert open_again(graph.uri, s3.options).repair().ok
