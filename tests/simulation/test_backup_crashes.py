"""Backups and restores beside other processes: killed at every point, and raced by writers and cleanups."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import CorruptState, NotAGraph
from support import graph_tasks
from support.backups import holds, insert, objects, said, varied
from support.care import PEOPLE, at_once, fill, open_again
from support.graphs import contents
from support.processes import run_together
from support.workers import Worker, Workers

BACKUP = (
    "backup.after_hold=kill",
    "backup.after_view=kill",
    "backup.after_file=kill",
    "backup.after_file=kill@20",
    "backup.after_files=kill",
    "backup.before_manifest=kill",
    "backup.after_manifest=kill",
)
RESTORE = (
    "restore.after_file=kill",
    "restore.after_file=kill@20",
    "restore.after_files=kill",
    "restore.before_stamp=kill",
    "restore.after_stamp=kill",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("backup") / "graph"
    varied(str(root))
    return root


@pytest.mark.parametrize("point", BACKUP)
def test_a_backup_killed_anywhere_leaves_the_earlier_one_and_goes_on_when_it_is_run_again(
    made: Path, tmp_path: Path, worker: Worker, point: str
) -> None:
    shutil.copytree(made, tmp_path / "graph")
    graph = og.open(tmp_path / "graph")
    target = tmp_path / "backups"
    before = said(graph)
    first = graph.backup(target)
    fill(graph, 12, 100, "dev")
    insert(graph, "new")
    worker.tell("backup", graph.uri, str(target), failpoints=point)
    worker.die()
    is_complete = point.startswith("backup.after_manifest")
    complete = [item.id for item in og.backups(target)]
    assert complete[0] == first.id and len(complete) == 1 + is_complete
    assert og.verify_backup(target).ok
    assert said(og.restore(target, tmp_path / "first", id=first.id)) == before
    assert len(holds(graph)) > 0
    lying = objects(target)
    done = open_again(graph.uri).backup(target)
    # What the killed one has copied is not copied again.
    assert done.files_copied == len(objects(target)) - len(lying)
    if point in ("backup.after_files=kill", "backup.before_manifest=kill", "backup.after_manifest=kill"):
        assert done.files_copied == 0
    assert said(og.restore(target, tmp_path / "again", id=done.id)) == said(graph)
    assert og.verify_backup(target).ok


def test_what_a_killed_backup_held_is_let_go_by_a_later_cleanup(
    made: Path, tmp_path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path / "graph")
    worker.tell("backup", str(tmp_path / "graph"), str(tmp_path / "b"), failpoints="backup.after_view=kill")
    worker.die()
    graph = og.open(tmp_path / "graph")
    assert len(holds(graph)) > 0
    monkeypatch.setenv("OMNIGRAPH_BACKUP_HOLD_SECONDS", "0")
    open_again(graph.uri).cleanup()
    assert holds(graph) == []


@pytest.mark.parametrize("point", RESTORE)
def test_a_restore_killed_anywhere_is_no_graph_or_a_whole_one_and_goes_on_when_it_is_run_again(
    made: Path, tmp_path: Path, worker: Worker, point: str
) -> None:
    graph = og.open(made, read_only=True)
    graph.backup(tmp_path / "backups")
    root = tmp_path / "again"
    worker.tell("restore", str(tmp_path / "backups"), str(root), failpoints=point)
    worker.die()
    if point.startswith("restore.after_stamp"):
        assert said(og.open(root)) == said(graph)
    else:
        with pytest.raises(NotAGraph):
            og.open(root)
    # A file that was cut short by a power cut is not taken for a whole one.
    damaged = next(iter(sorted(root.rglob("*.lance"))), None)
    if damaged is not None and not point.startswith("restore.after_stamp"):
        damaged.write_bytes(bytes(damaged.stat().st_size))
    restored = og.restore(tmp_path / "backups", root)
    assert said(restored) == said(graph)
    assert restored.repair().findings == ()
    assert not (root / "__restore.json").exists()


def test_a_backup_that_waits_while_everything_around_it_is_removed_is_whole(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 6)
    graph.branches.create("dev")
    fill(graph, 3, 10, "dev")
    graph.branches.merge("dev")
    fill(graph, 2, 20, "dev")
    before = {branch: contents(graph.snapshot(branch)) for branch in ("main", "dev")}
    heads = {branch: graph.snapshot(branch).commit_id for branch in ("main", "dev")}
    point = "backup.after_view"
    worker = workers.take()
    worker.tell("backup", graph.uri, str(tmp_path / "backups"), failpoints=f"{point}=park")
    worker.wait_parked(point)
    at_once(monkeypatch)
    other = open_again(graph.uri)
    other.branches.delete("dev")
    other.load([{"type": "Person", "data": {"name": "only"}}], mode="overwrite")
    other.optimize()
    for _ in range(3):
        open_again(graph.uri).cleanup(keep=1)
    worker.release(point)
    done = worker.answer()
    assert done.heads == heads
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert {branch: contents(restored.snapshot(branch)) for branch in ("main", "dev")} == before
    assert restored.repair().findings == ()
    # What later merges start from is there: nothing of what was merged comes again.
    restored.mutate('query q() { delete Person where name = "p11" }')
    restored.branches.merge("dev")
    assert "p11" not in contents(restored.snapshot())["node:Person"]
    # Nothing is held any more.
    open_again(graph.uri).cleanup(keep=1)
    assert list(contents(og.open(graph.uri).snapshot())["node:Person"]) == ["only"]
    assert len(og.open(graph.uri).commits.list()) < 5


def test_backups_beside_writers_branches_and_cleanups_are_each_whole(tmp_path: Path) -> None:
    uri, target = str(tmp_path / "graph"), tmp_path / "backups"
    graph = og.init(uri, PEOPLE)
    fill(graph, 4)
    tasks = [
        ("insert_beside_cleanup", uri, 1, 20),
        ("come_and_go", uri, 2, 6),
        ("clean_often", uri, 2, 6),
        ("back_up_often", uri, str(target), 5),
    ]
    inserted, merged, _, made = run_together(graph_tasks.task, tasks)
    assert len(made) == 5
    assert og.verify_backup(target).ok
    made.append((og.open(uri).backup(target).id, []))
    for number, (id_, _) in enumerate(made):
        restored = og.restore(target, tmp_path / f"r{number}", id=id_)
        found = restored.repair()
        assert not [item for item in found.findings if item.severity == "damage"], found.findings
        for branch in restored.branches.list():
            contents(restored.snapshot(branch))
    last = contents(og.open(tmp_path / f"r{len(made) - 1}").snapshot())["node:Person"]
    assert set(inserted) | set(merged) <= set(last)


def test_a_restore_of_a_damaged_backup_makes_no_graph(made: Path, tmp_path: Path) -> None:
    og.open(made, read_only=True).backup(tmp_path / "backups")
    for path in (tmp_path / "backups" / "objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(CorruptState):
        og.restore(tmp_path / "backups", tmp_path / "again")
    with pytest.raises(NotAGraph):
        og.open(tmp_path / "again")
