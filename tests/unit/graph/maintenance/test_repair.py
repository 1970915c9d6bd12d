"""Repair: a sound graph is said to be sound, and every damage is found, explained and left alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import ReadOnly
from omnigraph.base.failpoints import InjectedFault
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, write_floor
from support.care import PEOPLE, at_once, fill
from support.graphs import fingerprint
from support.row_changes import Append, Delete, RowChanges
from support.s3 import S3
from support.stored_objects import rewrite
from support.workers import Worker


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    graph.mutate('query q() { insert Knows { from: "p0" to: "p1" } }')
    graph.branches.create("dev")
    fill(graph, 2, 10, "dev")
    graph.tags.create("v1", commit=graph.snapshot(version=2).commit_id)
    return graph


def _person(graph: og.Graph, version: int | None = None) -> Path:
    entry = graph.snapshot(version=version).record.by_key()["node:Person"]
    return Path(graph.uri, entry.location, entry.pin.path)


def _data_file(root: Path) -> Path:
    return max((root / "nodes").rglob("data/*.lance"), key=lambda path: path.stat().st_mtime_ns)


def _remove_data_file(root: Path, graph: og.Graph) -> str:
    path = _data_file(root)
    path.unlink()
    return str(path.relative_to(root))


def _truncate_data_file(root: Path, graph: og.Graph) -> str:
    path = _data_file(root)
    os.truncate(path, path.stat().st_size - 10)
    return str(path.relative_to(root))


def _remove_pin(root: Path, graph: og.Graph) -> str:
    _person(graph).unlink()
    return str(_person(graph).relative_to(root))


def _truncate_pin(root: Path, graph: og.Graph) -> str:
    os.truncate(_person(graph), 40)
    return str(_person(graph).relative_to(root))


def _record(root: Path, graph: og.Graph, number: int) -> Path:
    chain = json.loads((root / "__manifest/graph.json").read_bytes())["main"]
    return root / layout.record_path(chain, number)


def _truncate_record(root: Path, graph: og.Graph) -> str:
    path = _record(root, graph, 3)
    os.truncate(path, 50)
    return str(path.relative_to(root))


def _remove_record(root: Path, graph: og.Graph) -> str:
    path = _record(root, graph, 3)
    path.unlink()
    return str(path.relative_to(root))


def _edit_record(
    root: Path, graph: og.Graph, change: Callable[[dict[str, object]], None], number: int = 4
) -> str:
    path = _record(root, graph, number)
    rewrite(path, change)
    return str(path.relative_to(root))


def _wrong_rows(root: Path, graph: og.Graph) -> str:
    def change(content: dict[str, object]) -> None:
        for entry in content["tables"].values():  # type: ignore[attr-defined]
            if entry[0] == "node:Person":
                entry[4] += 7

    _edit_record(root, graph, change)
    return str(_person(graph, 4).relative_to(root))


def _other_parent(root: Path, graph: og.Graph) -> str:
    def change(content: dict[str, object]) -> None:
        content["parent"][0] = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # type: ignore[index]

    return _edit_record(root, graph, change, graph.snapshot().version)


def _bad_ref(root: Path, graph: og.Graph) -> str:
    (root / "__manifest/branches/dev.json").write_text("{}")
    return "__manifest/branches/dev.json"


def _bad_tag(root: Path, graph: og.Graph) -> str:
    (root / "__manifest/tags/v1.json").write_text("nonsense")
    return "__manifest/tags/v1.json"


def _bad_plan(root: Path, graph: og.Graph) -> str:
    (root / "__recovery").mkdir(exist_ok=True)
    (root / "__recovery/01ARZ3NDEKTSV4RRFFQ69G5FAV.json").write_text('{"format": 1}')
    return "__recovery/01ARZ3NDEKTSV4RRFFQ69G5FAV.json"


def _edited_schema(root: Path, graph: og.Graph) -> str:
    (path,) = (root / "__manifest/schemas").iterdir()
    path.write_text(path.read_text().replace("note", "nope"))
    return str(path.relative_to(root))


DAMAGE: dict[str, tuple[Callable[[Path, og.Graph], str], str]] = {
    "a data file is missing": (_remove_data_file, "file_missing"),
    "a data file is cut short": (_truncate_data_file, "file_damaged"),
    "a table's manifest is missing": (_remove_pin, "table_missing"),
    "a table's manifest is cut short": (_truncate_pin, "manifest_damaged"),
    "a record is cut short": (_truncate_record, "record_unreadable"),
    "a record is missing": (_remove_record, "record_missing"),
    "a record counts wrong": (_wrong_rows, "count_differs"),
    "a record has another parent": (_other_parent, "parent_differs"),
    "a ref cannot be read": (_bad_ref, "ref_unreadable"),
    "a tag cannot be read": (_bad_tag, "tag_unreadable"),
    "a plan cannot be read": (_bad_plan, "plan_unreadable"),
    "a schema was edited": (_edited_schema, "schema_unreadable"),
}


def test_a_sound_graph_is_sound(graph: og.Graph) -> None:
    found = graph.repair()
    assert found.ok
    assert found.findings == ()
    assert (found.branches, found.commits, found.rows) == (2, 7, 3 + 1 + 5 + 1)
    assert found.tables > 0
    assert found.files > 0


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_named_and_left_as_it_is(graph: og.Graph, damage: str) -> None:
    root = Path(graph.uri)
    break_it, code = DAMAGE[damage]
    where = break_it(root, graph)
    before = fingerprint(root)
    found = og.open(root, read_only=True).repair()
    assert not found.ok
    (named,) = {item.where for item in found.findings if item.code == code}
    assert named == where
    assert all(item.what and item.advice for item in found.findings)
    assert fingerprint(root) == before


@pytest.mark.parametrize(("deleted", "kind"), [(3, ".arrow"), (6_000, ".bin")], ids=["sparse", "dense"])
@pytest.mark.parametrize("left", [0.0, 0.5], ids=["empty", "cut short"])
def test_a_deletion_file_that_only_an_old_version_needs_is_read(
    tmp_path: Path, deleted: int, kind: str, left: float
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    names = [f"p{number}" for number in range(4 * deleted)]
    graph.load([{"type": "Person", "data": {"name": name}} for name in names], mode="append")
    graph.commit_work(RowChanges([Delete("node:Person", names[:deleted])]))
    graph.tags.create("old")
    (path,) = (tmp_path / "graph/nodes").rglob("_deletions/*")
    assert path.suffix == kind
    graph.commit_work(RowChanges([Delete("node:Person", names[deleted : deleted + 2])]))
    assert graph.repair().findings == ()
    os.truncate(path, int(path.stat().st_size * left))
    (found,) = og.open(graph.uri, read_only=True).repair().findings
    assert (found.code, found.where) == ("deletions_damaged", str(path.relative_to(graph.uri)))
    assert "node:Person at version 3 of branch 'main'" in found.what


def _truncate_newest(root: Path, branch: str) -> Path:
    incarnation = og.open(root, branch=branch).internals.read_state().ref.incarnation
    path = max((root / f"__manifest/chains/{incarnation}").glob("*/*"))
    os.truncate(path, 50)
    return path.relative_to(root)


@pytest.mark.parametrize("branch", ["main", "dev"])
def test_a_damaged_head_is_among_the_findings(graph: og.Graph, branch: str) -> None:
    root = Path(graph.uri)
    fill(graph, 1, 20)
    tag = _bad_tag(root, graph)
    newest = _truncate_newest(root, branch)
    damaged = og.open(root, branch=branch, read_only=True)
    with pytest.raises(og.CorruptState):
        damaged.snapshot()
    found = damaged.repair()
    told = {(item.code, item.where) for item in found.findings if item.severity == "damage"}
    assert told == {("record_unreadable", str(newest)), ("tag_unreadable", tag)}
    assert found.branches == 2
    assert found.commits == 7
    (unused,) = (item for item in found.findings if item.code == "files_unused")
    assert "do not clean up" in unused.advice
    with pytest.raises(og.CorruptState):
        og.open(root, branch=branch)


def test_a_graph_without_any_record_of_main_opens_to_be_verified(graph: og.Graph) -> None:
    root = Path(graph.uri)
    for path in _record(root, graph, 1).parent.iterdir():
        path.unlink()
    codes = {item.code for item in og.open(root, read_only=True).repair().findings}
    assert {"branch_empty", "fork_missing", "tag_dangling"} <= codes


def _drop_newest(graph: og.Graph, branch: str, hinted: bool = False) -> str:
    head = graph.snapshot(branch).record
    path = Path(layout.record_path(head.incarnation, head.seq))
    (Path(graph.uri) / path).unlink()
    if not hinted:
        (Path(graph.uri) / layout.hint_path(head.incarnation)).unlink()
    return str(path)


def _assert_merged_commit_is_missed(graph: og.Graph, lost: str, where: str) -> None:
    found = og.open(graph.uri).repair()
    (missing,) = (item for item in found.findings if item.severity == "damage")
    assert (missing.code, missing.where) == ("commit_missing", where)
    assert lost in missing.what
    assert "version 6 of branch 'main', which merged it" in missing.what
    assert all("do not clean up" in item.advice for item in found.findings if item.code == "files_unused")


def test_a_lost_newest_commit_that_was_merged_is_missed(graph: og.Graph) -> None:
    graph.branches.merge("dev")
    lost = graph.snapshot("dev").commit_id
    where = _drop_newest(graph, "dev")
    with pytest.raises(og.CorruptState, match=r"is missing, .* which merged it: run `omnigraph repair`"):
        og.open(graph.uri).cleanup()
    _assert_merged_commit_is_missed(graph, lost, where)


def test_a_lost_commit_that_was_merged_is_missed_though_another_took_its_place(graph: og.Graph) -> None:
    graph.branches.merge("dev")
    lost = graph.snapshot("dev").commit_id
    where = _drop_newest(graph, "dev")
    fill(og.open(graph.uri), 1, 30, "dev")
    _assert_merged_commit_is_missed(graph, lost, where)


def test_a_lost_newest_commit_is_missed_when_the_branch_is_opened_or_written(graph: og.Graph) -> None:
    where = _drop_newest(graph, "main", hinted=True)
    for call in (
        lambda: og.open(graph.uri),
        lambda: og.open(graph.uri, read_only=True).snapshot(),
        lambda: fill(og.open(graph.uri, branch="dev"), 1, 30, "main"),
    ):
        with pytest.raises(og.CorruptState, match=f"{where} is lost"):
            call()
    found = og.open(graph.uri, read_only=True).repair()
    assert where in [item.where for item in found.findings if item.code == "record_missing"]


def test_a_record_lost_under_an_open_handle_is_missed_by_its_next_write(graph: og.Graph) -> None:
    writer = og.open(graph.uri)
    writer.snapshot()
    fill(graph, 3, 30)
    head = graph.snapshot().record
    where = layout.record_path(head.incarnation, head.seq - 2)
    (Path(graph.uri) / where).unlink()
    with pytest.raises(og.CorruptState, match="has lost its commit record"):
        fill(writer, 1, 40)
    assert not (Path(graph.uri) / where).exists()
    assert og.open(graph.uri).snapshot().commit_id == head.commit


def test_a_lost_newest_commit_that_is_tagged_is_missed_though_another_took_its_place(graph: og.Graph) -> None:
    graph.tags.create("v2", branch="dev")
    _drop_newest(graph, "dev")
    fill(og.open(graph.uri), 1, 30, "dev")
    found = og.open(graph.uri).repair()
    (missing,) = (item for item in found.findings if item.severity == "damage")
    assert (missing.code, missing.where) == ("tag_dangling", "__manifest/tags/v2.json")


def test_a_lost_commit_that_a_pending_plan_builds_on_is_missed(graph: og.Graph, worker: Worker) -> None:
    records = [{"type": "Person", "data": {"name": "loaded"}}]
    worker.tell("load", graph.uri, records, "append", failpoints="plan.after_put=kill")
    worker.die()
    where = _drop_newest(graph, "main")
    found = og.open(graph.uri, read_only=True).repair()
    told = {
        item.where: item.what for item in found.findings if item.code in ("commit_missing", "fork_missing")
    }
    assert set(told) == {where}


def test_what_cleanups_dropped_is_not_missed(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    graph.branches.merge("dev")
    graph.branches.create("gone")
    fill(graph, 2, 40, "gone")
    graph.branches.merge("gone")
    graph.branches.delete("gone")
    fill(graph, 2, 50)
    fill(graph, 2, 60, "dev")
    for _ in range(2):
        og.open(graph.uri).cleanup(keep=1)
        assert og.open(graph.uri).repair().findings == ()


def test_rows_that_break_a_rule_are_named(graph: og.Graph) -> None:
    graph.commit_work(RowChanges([Delete("node:Person", ["p1"])]))
    rows = graph.snapshot().table("node:Person").scan().slice(0, 1)
    graph.commit_work(RowChanges([Append("node:Person", rows)]))
    found = graph.repair()
    assert not found.ok
    told = " ".join(item.what for item in found.findings if item.code == "rule_broken")
    assert "'p1' not found in Person" in told
    assert "stands 2 times" in told
    assert all("branch main" in item.where for item in found.findings if item.code == "rule_broken")


def test_a_node_whose_id_is_not_its_key_is_named(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node A { n: I64 @key }\nnode B { s: String  d: Date @key(s, d) }")
    graph.load(
        [{"type": "A", "data": {"n": 7}}, {"type": "B", "data": {"s": "x", "d": "2026-01-02"}}], mode="append"
    )
    assert graph.repair().ok
    for key in ("node:A", "node:B"):
        rows = graph.snapshot().table(key).scan()
        other = rows.set_column(0, rows.schema.field("id"), pa.array(["other"]))
        graph.commit_work(RowChanges([Append(key, other)]))
    told = [item.what for item in graph.repair().findings if item.code == "rule_broken"]
    assert [text for text in told if "not what its key makes" in text] == [
        "id 'other' of A is not what its key makes",
        "id 'other' of B is not what its key makes",
    ]


def test_what_is_left_of_a_cut_off_write_is_told_and_no_damage(graph: og.Graph) -> None:
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        fill(graph, 1, 90)
    found = graph.repair()
    assert found.ok
    assert [item.code for item in found.findings] == ["files_unused"]


def test_an_abandoned_plan_is_settled_on_request(graph: og.Graph, worker: Worker) -> None:
    records = [{"type": "Person", "data": {"name": "loaded"}}]
    worker.tell("load", graph.uri, records, "append", failpoints="plan.after_put=kill")
    worker.die()
    seen = og.open(graph.uri, read_only=True).repair()
    assert seen.ok
    assert "plan_abandoned" in [item.code for item in seen.findings]
    with pytest.raises(ReadOnly):
        og.open(graph.uri, read_only=True).repair(confirm=True)
    mended = graph.repair(confirm=True)
    assert [item.mended for item in mended.findings if item.code == "plan_abandoned"] == [True]
    assert graph.snapshot().table("node:Person").count() == 4


def test_a_delete_that_was_cut_off_is_finished_on_request(graph: og.Graph) -> None:
    with failpoints.arm_temporarily("branch.delete.after_close", "raise"), pytest.raises(InjectedFault):
        graph.branches.delete("dev")
    seen = graph.repair()
    assert seen.ok
    assert "delete_unfinished" in [item.code for item in seen.findings]
    mended = graph.repair(confirm=True)
    assert [item.mended for item in mended.findings if item.code == "delete_unfinished"] == [True]
    assert json.loads((Path(graph.uri) / "__manifest/branches/dev.json").read_bytes())["deleted"]


def test_a_rebase_that_was_cut_off_is_finished_on_request(graph: og.Graph) -> None:
    graph.mutate('query q() { insert Person { name: "newer" } }')
    with failpoints.arm_temporarily("branch.rebase.after_close", "raise"), pytest.raises(InjectedFault):
        graph.branches.rebase("dev")
    seen = graph.repair()
    assert seen.ok
    assert "rebase_unfinished" in [item.code for item in seen.findings]
    fixed = graph.repair(confirm=True)
    assert [item.mended for item in fixed.findings if item.code == "rebase_unfinished"] == [True]
    assert graph.repair().findings == ()


def test_a_lost_ref_stops_cleanup_and_is_told(graph: og.Graph) -> None:
    (Path(graph.uri) / "__manifest/branches/dev.json").unlink()
    with pytest.raises(og.CorruptState, match="ref is lost"):
        graph.cleanup()
    assert "branch_lost" in [item.code for item in graph.repair().findings]


@pytest.mark.parametrize("lost", ["ref", "name", "end"])
def test_a_chain_that_others_stand_on_is_never_nobodys(
    graph: og.Graph, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    root = Path(graph.uri)
    graph.branches.merge("dev")
    chain = graph.snapshot("dev").record.incarnation
    if lost == "end":
        graph.branches.delete("dev")
        max((root / f"__manifest/chains/{chain}").glob("*/*")).unlink()
    elif lost == "ref":
        (root / "__manifest/branches/dev.json").unlink()
    else:
        rewrite(root / "__manifest/branches/dev.json", lambda ref: ref.update(deleted=True))
    found = og.open(root, read_only=True).repair()
    (told,) = (item for item in found.findings if item.severity == "damage")
    assert told.code == "branch_lost"
    assert "'dev' has neither a ref nor an end" in told.what
    assert "version 6 of branch 'main', which merged it" in told.what
    before = sorted((root / f"__manifest/chains/{chain}").glob("*/*"))
    with pytest.raises(og.CorruptState, match=r"ref|is lost"):
        og.open(root).cleanup()
    assert sorted((root / f"__manifest/chains/{chain}").glob("*/*")) == before


def test_a_branch_whose_fork_was_dropped_is_told_and_stops_cleanup(graph: og.Graph) -> None:
    truth = graph.internals.core.truth
    fork, head = truth.state("dev").ref.fork, truth.state("main").head
    assert fork is not None
    fill(graph, 1, 20)
    write_floor(truth.store, Floor(fork.incarnation, "main", None, head.seq + 1, head.created_at), None)
    with pytest.raises(og.CorruptState, match="'dev' was forked from, is missing"):
        graph.cleanup()
    found = graph.repair()
    assert not found.ok
    assert "fork_dropped" in [item.code for item in found.findings]
    graph.branches.delete("dev")
    graph.cleanup()


@pytest.mark.s3
def test_a_record_lost_from_a_bucket_is_missed_when_the_branch_is_opened(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/graph", PEOPLE, storage_options=s3.options)
    fill(graph, 4)
    head = graph.snapshot().record
    where = layout.record_path(head.incarnation, head.seq - 2)
    graph.internals.core.truth.store.delete(where)
    with pytest.raises(og.CorruptState, match=f"{where} is lost"):
        og.open(f"{s3.uri}/graph", storage_options=s3.options)
