"""Restores that are cut off, overtaken or run twice at once: none writes to a graph that lives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import AlreadyExists, Contention
from omnigraph.base.failpoints import Failpoint, InjectedFault
from omnigraph.graph.backup import claim, restore
from omnigraph.graph.backup.claim import CLAIM, ClaimedRoot
from support.backups import insert, said
from support.care import PEOPLE, at_once, fill
from support.graphs import contents


@pytest.fixture(scope="module")
def backups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("restore")
    graph = og.init(folder / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("dev")
    insert(graph, "old", "dev")
    graph.tags.create("t")
    graph.mutate('query q() { insert Person { name: "once" } }', idempotency_key="k")
    graph.backup(folder / "backups")
    return folder / "backups"


@contextmanager
def frozen_at(point: str, act: Callable[[], object]) -> Iterator[None]:
    """Let something happen when a restore passes a point for the first time."""
    waiting = [act]

    def passed(at: Failpoint) -> None:
        if at.value == point and waiting:
            waiting.pop()()
        failpoints.hit(at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restore, "hit", passed)
        yield
    assert not waiting, f"no restore came to {point}"


def live(backups: Path, root: Path) -> dict[str, bytes]:
    """Restore, and change in the graph what can be changed; return all that lies there then."""
    graph = og.restore(backups, root)
    graph.branches.delete("dev")
    graph.branches.create("dev")
    insert(graph, "new", "dev")
    graph.tags.delete("t")
    for name in ("m1", "m2", "m3"):
        insert(graph, name)
    graph.tags.create("t")
    assert og.open(root).cleanup(keep=1).commits_dropped > 0
    return lying(root)


def lying(root: Path) -> dict[str, bytes]:
    """Return all objects of a root."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".og" not in path.parts
    }


@pytest.mark.parametrize("point", ["after_file", "after_files", "before_stamp"])
def test_a_frozen_restore_writes_nothing_to_the_graph_that_another_run_has_made(
    backups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    at_once(monkeypatch)
    monkeypatch.setattr("omnigraph.storage.files.copying._FILES_AT_ONCE_ON_DISK", 1)
    root = tmp_path / "again"
    seen: list[dict[str, bytes]] = []
    with (
        frozen_at(f"restore.{point}", lambda: seen.append(live(backups, root))),
        pytest.raises(AlreadyExists, match="another run") as caught,
    ):
        og.restore(backups, root)
    assert caught.value.code == "already_exists"
    assert lying(root) == seen[0]
    graph = og.open(root)
    assert "new" in contents(graph.snapshot("dev"))["node:Person"]
    assert "m3" in contents(graph.snapshot(tag="t"))["node:Person"]
    assert graph.repair().findings == ()


@pytest.mark.parametrize("victim", ["branches/dev.json", "tags/t.json", "keys/"])
def test_a_restore_that_freezes_right_before_a_write_overwrites_nothing(
    backups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    at_once(monkeypatch)
    root = tmp_path / "again"
    seen: list[dict[str, bytes]] = []
    before = ClaimedRoot.check
    writing: list[str] = []
    create = ClaimedRoot.create

    def noted(self: ClaimedRoot, path: str, data: bytes) -> None:
        writing.append(path)
        create(self, path, data)

    def freeze(self: ClaimedRoot) -> None:
        before(self)
        if writing and victim in writing[-1] and not seen:
            seen.append({})
            seen[0] = live(backups, root)

    monkeypatch.setattr(claim.ClaimedRoot, "create", noted)
    monkeypatch.setattr(claim.ClaimedRoot, "check", freeze)
    monkeypatch.setattr("omnigraph.storage.files.copying._FILES_AT_ONCE_ON_DISK", 1)
    with pytest.raises(AlreadyExists, match="another run"):
        og.restore(backups, root)
    assert seen[0] and lying(root) == seen[0]


def test_a_restore_that_another_run_goes_on_with_is_contention(backups: Path, tmp_path: Path) -> None:
    root = tmp_path / "again"

    def overtake() -> None:
        with failpoints.arm_temporarily("restore.before_stamp", "raise"), pytest.raises(InjectedFault):
            og.restore(backups, root)

    with frozen_at("restore.after_files", overtake), pytest.raises(Contention, match="another run"):
        og.restore(backups, root)
    assert not (root / "__manifest" / "graph.json").exists()
    assert said(og.restore(backups, root)) == said(og.restore(backups, tmp_path / "other"))


def test_what_is_sealed_only_gets_its_stamp(
    backups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner was cut off, or is frozen, right before it writes the stamp."""
    root = tmp_path / "again"

    def cut(*_: object) -> None:
        raise InjectedFault("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(restore, "write_stamp", cut)
        with pytest.raises(InjectedFault):
            og.restore(backups, root, new_id=True)
    before = lying(root)
    assert json.loads(before.pop(CLAIM))["sealed"]
    og.restore(backups, root, new_id=True)
    after = lying(root)
    assert after.keys() - before.keys() == {"__manifest/graph.json"}
    assert {path: after[path] for path in before} == before


def test_a_restore_goes_on_with_the_id_that_it_began_with(backups: Path, tmp_path: Path) -> None:
    for root, is_new in ((tmp_path / "new", True), (tmp_path / "same", False)):
        with failpoints.arm_temporarily("restore.before_stamp", "raise"), pytest.raises(InjectedFault):
            og.restore(backups, root, new_id=is_new)
        begun = json.loads((root / CLAIM).read_bytes())["graph"]
        with pytest.raises(AlreadyExists, match="new id is unfinished"):
            og.restore(backups, root, new_id=not is_new)
        assert og.restore(backups, root, new_id=is_new).id == begun


def test_a_restore_that_was_cut_off_does_not_choose_between_its_backup_and_a_newer_one(
    tmp_path: Path,
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    before = said(graph)
    older = graph.backup(tmp_path / "backups").id
    root = tmp_path / "again"
    with failpoints.arm_temporarily("restore.before_stamp", "raise"), pytest.raises(InjectedFault):
        og.restore(tmp_path / "backups", root)
    insert(graph, "later")
    newer = graph.backup(tmp_path / "backups").id
    with pytest.raises(AlreadyExists, match=f"{older}.*unfinished.*{newer} is the newest.*--id {older}"):
        og.restore(tmp_path / "backups", root)
    with pytest.raises(AlreadyExists, match=f"{older} is unfinished"):
        og.restore(tmp_path / "backups", root, id=newer)
    assert said(og.restore(tmp_path / "backups", root, id=older)) == before


def test_what_a_power_cut_damaged_is_written_again(backups: Path, tmp_path: Path) -> None:
    root = tmp_path / "again"
    with failpoints.arm_temporarily("restore.before_stamp", "raise"), pytest.raises(InjectedFault):
        og.restore(backups, root)
    manifest = root / "__manifest"
    for folder in ("branches", "chains", "keys", "schemas"):
        victim = next(path for path in sorted((manifest / folder).rglob("*.json")))
        victim.write_bytes(b"")
    assert said(og.restore(backups, root)) == said(og.restore(backups, tmp_path / "other"))


def test_lost_and_damaged_files_of_a_graph_are_put_back_from_a_backup(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 4)
    graph.branches.create("dev")
    graph.backup(tmp_path / "backups")
    root = tmp_path / "graph"
    record = sorted((root / "__manifest" / "chains").rglob("*.json"))[2]
    data = sorted((root / "nodes").rglob("*.lance"))[0]
    insert(graph, "later")
    before = said(graph)
    schema = next((root / "__manifest" / "schemas").iterdir())
    record.unlink()
    data.write_bytes(data.read_bytes()[:-1])
    schema.write_bytes(schema.read_bytes()[:-9] + b"}")
    found = og.open(root, read_only=True).repair()
    named = {item.where for item in found.findings if item.severity == "damage"}
    assert {str(record.relative_to(root)), str(schema.relative_to(root))} <= named
    og.restore(tmp_path / "backups", tmp_path / "aside")
    for path in (record, data, schema):
        path.write_bytes((tmp_path / "aside" / path.relative_to(root)).read_bytes())
    again = og.open(root)
    assert again.repair(scrub=True).findings == ()
    assert said(again) == before


def test_a_folder_with_a_restore_that_was_cut_off_is_not_taken_for_an_empty_one(
    backups: Path, tmp_path: Path
) -> None:
    root = tmp_path / "again"
    with failpoints.arm_temporarily("restore.before_stamp", "raise"), pytest.raises(InjectedFault):
        og.restore(backups, root)
    for force in (False, True):
        with pytest.raises(AlreadyExists, match="restore that was cut off"):
            og.init(root, PEOPLE, force=force)
    with pytest.raises(og.NotAGraph, match="omnigraph restore"):
        og.open(root)
    assert og.restore(backups, root).branches.list()


def test_a_restore_takes_the_newest_whole_graph_rather_than_a_later_snapshot(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    whole = graph.backup(tmp_path / "backups")
    before = said(graph)
    snapshot = graph.backup(tmp_path / "backups", branch="main")
    assert said(og.restore(tmp_path / "backups", tmp_path / "again")) == before
    assert len(og.restore(tmp_path / "backups", tmp_path / "one", id=snapshot.id).commits.list()) == 1
    with failpoints.arm_temporarily("restore.before_stamp", "raise"), pytest.raises(InjectedFault):
        og.restore(tmp_path / "backups", tmp_path / "cut", id=snapshot.id)
    with pytest.raises(AlreadyExists, match=f"unfinished, and {whole.id} is the newest"):
        og.restore(tmp_path / "backups", tmp_path / "cut")
