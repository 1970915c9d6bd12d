"""Backups and restores as users see them, on real storage."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import (
    AlreadyExists,
    BadInput,
    Conflict,
    CorruptState,
    HistoricalVersionReclaimed,
    InvalidName,
    NotFound,
)
from omnigraph.base.failpoints import InjectedFault
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.storage.objects.local import LocalStore
from support.backups import holds, insert, meanwhile, objects, said, varied
from support.care import PEOPLE, at_once, fill
from support.graphs import contents
from support.s3 import S3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("backup") / "graph"
    varied(str(root))
    return root


@pytest.fixture
def graph(made: Path, tmp_path: Path) -> og.Graph:
    shutil.copytree(made, tmp_path / "graph")
    return og.open(tmp_path / "graph", actor="act-bob")


def test_a_restored_graph_says_the_same_at_every_commit_of_every_branch(
    graph: og.Graph, tmp_path: Path
) -> None:
    before = said(graph)
    done = graph.backup(tmp_path / "backups")
    assert (done.scope, done.actor, set(done.heads)) == ("graph", "act-bob", {"main", "dev", "empty"})
    assert 0 < done.files_copied <= done.files
    assert len(objects(tmp_path / "backups")) == done.files_copied
    assert holds(graph) == []
    shutil.rmtree(tmp_path / "graph")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert said(restored) == before
    assert restored.id == graph.id
    assert restored.repair().findings == ()


def test_a_restored_graph_can_be_written_merged_and_cleaned_up(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    insert(restored, "late")
    restored.branches.merge("dev")
    at_once(monkeypatch)
    fresh = og.open(tmp_path / "again")
    assert not fresh.cleanup(keep=2).errors
    insert(fresh, "later")
    assert "late" in contents(fresh.snapshot())["node:Person"]
    assert og.open(tmp_path / "again").repair().findings == ()


@pytest.mark.s3
def test_a_backup_on_disk_becomes_a_graph_in_a_bucket_and_the_other_way_round(
    graph: og.Graph, tmp_path: Path, s3: S3
) -> None:
    before = said(graph)
    graph.backup(tmp_path / "disk")
    shutil.rmtree(tmp_path / "graph")
    remote = og.restore(tmp_path / "disk", f"{s3.uri}/graph", storage_options=s3.options)
    assert said(remote) == before
    done = remote.backup(f"{s3.uri}/backups")
    assert remote.backup(f"{s3.uri}/backups").files_copied == 0
    assert og.verify_backup(f"{s3.uri}/backups", storage_options=s3.options).ok
    local = og.restore(f"{s3.uri}/backups", tmp_path / "again", id=done.id, backup_options=s3.options)
    assert said(local) == before
    assert local.repair().findings == ()


def test_only_what_the_target_does_not_have_is_copied(graph: og.Graph, tmp_path: Path) -> None:
    first = graph.backup(tmp_path / "backups")
    assert graph.backup(tmp_path / "backups").files_copied == 0
    before = set(objects(tmp_path / "backups"))
    insert(graph, "new")
    second = graph.backup(tmp_path / "backups")
    added = set(objects(tmp_path / "backups")) - before
    assert 0 < second.files_copied == len(added) < 8
    assert (second.files, second.commits) == (first.files + len(added), first.commits + 1)
    assert [item.commits for item in og.backups(tmp_path / "backups")] == [
        first.commits,
        first.commits,
        second.commits,
    ]
    restored = og.restore(tmp_path / "backups", tmp_path / "first", id=first.id)
    assert "new" not in contents(restored.snapshot())["node:Person"]


def test_since_goes_on_from_the_backup_that_holds_the_commit(graph: og.Graph, tmp_path: Path) -> None:
    head = graph.commits.list()[0].id
    with pytest.raises(NotFound, match="holds commit"):
        graph.backup(tmp_path / "backups", since=head)
    graph.backup(tmp_path / "backups")
    with pytest.raises(NotFound, match="holds commit"):
        graph.backup(tmp_path / "backups", since=insert(graph, "after"))
    insert(graph, "side", "dev")
    done = graph.backup(tmp_path / "backups", since=head)
    assert done.since == head
    assert said(og.restore(tmp_path / "backups", tmp_path / "again")) == said(graph)


def test_since_keeps_what_the_graph_has_dropped_and_an_ordinary_backup_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    made = fill(graph, 6)
    graph.backup(tmp_path / "backups")
    made += fill(graph, 3, 10)
    at_once(monkeypatch)
    graph = og.open(tmp_path / "graph")
    assert graph.cleanup(keep=5).commits_dropped > 0
    long = graph.backup(tmp_path / "backups", since=made[5])
    short = graph.backup(tmp_path / "backups")
    assert (long.commits, short.files_copied) == (short.commits + 5, 0)
    whole = og.restore(tmp_path / "backups", tmp_path / "long", id=long.id)
    assert {commit.id for commit in whole.commits.list()} >= set(made)
    assert len(contents(whole.snapshot(commit=made[1]))["node:Person"]) == 2
    assert whole.repair().findings == ()
    cut = og.restore(tmp_path / "backups", tmp_path / "short", id=short.id)
    assert [item.id for item in cut.commits.list()] == [item.id for item in graph.commits.list()]
    with pytest.raises(HistoricalVersionReclaimed):
        cut.snapshot(commit=made[1])
    assert cut.repair().findings == ()


def test_one_snapshot_is_a_graph_of_that_one_commit(graph: og.Graph, tmp_path: Path) -> None:
    old = graph.commits.list()[4].id
    for name, what, seen in (
        ("branch", {"branch": "dev"}, graph.snapshot("dev")),
        ("commit", {"snapshot": old}, graph.snapshot(commit=old)),
        ("tag", {"snapshot": "v1"}, graph.snapshot(tag="v1")),
    ):
        done = graph.backup(tmp_path / "backups", **what)  # type: ignore[arg-type]
        assert (done.scope, done.commits, done.heads) == ("snapshot", 1, {"main": seen.commit_id})
        restored = og.restore(tmp_path / "backups", tmp_path / name)
        assert [item.id for item in restored.commits.list()] == [seen.commit_id]
        assert contents(restored.snapshot()) == contents(seen)
        assert restored.branches.list() == ["main"] and restored.tags.list() == []
        insert(restored, "next")
        assert len(og.open(tmp_path / name).commits.list()) == 2
        assert og.open(tmp_path / name).repair().findings == ()
    with pytest.raises(BadInput, match="whole graph"):
        graph.backup(tmp_path / "backups", since=old, branch="dev")


def test_a_table_that_was_dropped_for_good_is_left_out_of_old_commits(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE + "\nnode Secret { note: String? }")
    graph.load([{"type": "Secret", "data": {"note": "s"}}], mode="append")
    old = graph.commits.list()[0].id
    graph.schema.apply(PEOPLE, allow_data_loss=True)
    insert(graph, "p")
    done = graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert [item.id for item in restored.commits.list()] == [item.id for item in graph.commits.list()]
    assert done.commits == len(graph.commits.list())
    assert restored.snapshot(commit=old).table("node:Person").count() == 0
    for held in (graph, restored):
        with pytest.raises(NotFound):
            held.snapshot(commit=old).table("node:Secret").count()
    assert restored.repair().findings == graph.repair().findings == ()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_table_that_is_dropped_for_good_meanwhile_is_whole_at_the_head_or_not_there(
    tmp_path: Path, read_only: bool
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.load([{"edge": "Knows", "from": "p0", "to": "p1"}], mode="append")
    before = contents(graph.snapshot())

    def interfere() -> None:
        og.open(graph.uri).schema.apply(PEOPLE.splitlines()[0], allow_data_loss=True)

    with meanwhile("backup.after_view", interfere):
        og.open(graph.uri, read_only=read_only).backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    # Without a hold the files of the head go, and the backup looks again.
    before = contents(graph.snapshot()) if read_only else before
    assert contents(restored.snapshot()) == before
    restored.branches.create("dev")
    restored.tags.create("t")
    assert contents(restored.snapshot("dev")) == before
    assert restored.repair().findings == ()


def test_a_graph_that_was_restored_from_an_older_backup_goes_on_in_the_same_place(
    graph: og.Graph, tmp_path: Path
) -> None:
    first = graph.backup(tmp_path / "backups")
    lost = insert(graph, "lost")
    second = graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again", id=first.id)
    insert(restored, "other")
    with pytest.raises(Conflict, match="does not go on"):
        restored.backup(tmp_path / "backups", since=lost)
    third = restored.backup(tmp_path / "backups")
    assert said(og.restore(tmp_path / "backups", tmp_path / "third", id=third.id)) == said(restored)
    assert said(og.restore(tmp_path / "backups", tmp_path / "second", id=second.id)) == said(graph)
    assert [item.id for item in og.backups(tmp_path / "backups", commit=lost)] == [second.id]


def test_a_commit_of_backups_is_named_by_its_id_the_beginning_of_it_or_a_tag(
    graph: og.Graph, tmp_path: Path
) -> None:
    graph.backup(tmp_path / "backups")
    commit = insert(graph, "later")
    graph.tags.create("abcdef", commit=commit)
    second = graph.backup(tmp_path / "backups", since="main~1")
    third = graph.backup(tmp_path / "backups", since="abcdef")
    for name in (commit, commit.lower(), commit[:-4].lower(), "abcdef"):
        found = og.backups(tmp_path / "backups", commit=name)
        assert [item.id for item in found] == [second.id, third.id]
    assert og.backups(tmp_path / "backups", commit="0" * 26) == []
    graph.tags.delete("abcdef")
    graph.tags.create("abcdef")
    insert(graph, "last")
    graph.tags.delete("abcdef")
    graph.tags.create("abcdef")
    graph.backup(tmp_path / "backups")
    for name in ("abcdef", commit[:6]):
        with pytest.raises(BadInput, match=r"stands for \d+ commits of these backups"):
            og.backups(tmp_path / "backups", commit=name)
    for wrong in ("main~1", "main", commit[:5], "", 7):
        with pytest.raises(BadInput, match="give an id"):
            og.backups(tmp_path / "backups", commit=wrong)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="stand for a commit"):
        graph.backup(tmp_path / "backups", since=7)  # type: ignore[arg-type]


def test_a_restored_graph_may_have_an_id_of_its_own(graph: og.Graph, tmp_path: Path) -> None:
    graph.backup(tmp_path / "backups")
    copy = og.restore(tmp_path / "backups", tmp_path / "copy", new_id=True)
    assert copy.id != graph.id
    assert said(copy) == said(graph)
    with pytest.raises(AlreadyExists, match="another graph"):
        copy.backup(tmp_path / "backups")


def test_a_write_that_is_sent_again_to_a_restored_graph_is_the_commit_that_it_was(
    graph: og.Graph, tmp_path: Path
) -> None:
    gq = 'query q() { insert Person { name: "once" } }'
    first = graph.mutate(gq, idempotency_key="k1")
    done = graph.backup(tmp_path / "backups")
    graph.mutate('query q() { insert Person { name: "later" } }', idempotency_key="k2")
    assert graph.backup(tmp_path / "backups").files_copied > 0
    restored = og.restore(tmp_path / "backups", tmp_path / "again", id=done.id)
    before = restored.snapshot().commit_id
    assert restored.mutate(gq, idempotency_key="k1").commit_id == first.commit_id
    assert restored.snapshot().commit_id == before
    again = restored.mutate('query q() { insert Person { name: "later" } }', idempotency_key="k2")
    assert again.commit_id not in (None, graph.snapshot().commit_id)


def test_a_place_that_is_not_for_backups_is_refused(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(AlreadyExists, match="not empty"):
        graph.backup(tmp_path / "other")
    for inside in ("", "/backups", "/nodes/backups"):
        with pytest.raises(BadInput, match="inside a graph"):
            graph.backup(f"{graph.uri}{inside}")
    graph.backup(tmp_path / "backups")
    with pytest.raises(BadInput, match="inside a place of backups"):
        graph.backup(tmp_path / "backups" / "objects")
    with pytest.raises(NotFound, match="no backups"):
        og.backups(tmp_path / "other")
    assert (tmp_path / "other" / "letter.txt").read_text() == "mine"


def test_a_root_that_is_not_empty_is_refused(graph: og.Graph, tmp_path: Path) -> None:
    graph.backup(tmp_path / "backups")
    with pytest.raises(AlreadyExists, match="not empty"):
        og.restore(tmp_path / "backups", graph.uri)
    with pytest.raises(BadInput, match="inside"):
        og.restore(tmp_path / "backups", f"{graph.uri}/nodes/g")
    with pytest.raises(BadInput, match="inside"):
        og.restore(tmp_path / "backups", tmp_path / "backups" / "g")
    with pytest.raises(NotFound, match="no backup"):
        og.restore(tmp_path / "backups", tmp_path / "again", id="01AAAAAAAAAAAAAAAAAAAAAAAA")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_damaged_file_is_named_by_verify_and_restore_and_copied_again_by_the_next_backup(
    graph: og.Graph, tmp_path: Path, harm: str
) -> None:
    done = graph.backup(tmp_path / "backups")
    largest = [path for path in (tmp_path / "backups" / "objects").rglob("*") if path.is_file()]
    victim = max(largest, key=lambda path: path.stat().st_size)
    whole = victim.read_bytes()
    if harm == "remove":
        victim.unlink()
    else:
        victim.write_bytes(whole[:-1] if harm == "cut" else bytes([whole[0] ^ 1]) + whole[1:])
    found = og.verify_backup(tmp_path / "backups")
    assert not found.ok
    assert [(Path(item.path).name, item.backups) for item in found.damage] == [(victim.name, (done.id,))]
    with pytest.raises(CorruptState, match=victim.name) as caught:
        og.restore(tmp_path / "backups", tmp_path / "again")
    assert caught.value.of == found.damage[0].of
    assert not (tmp_path / "again" / "__manifest" / "graph.json").exists()
    victim.unlink(missing_ok=True)
    assert graph.backup(tmp_path / "backups").files_copied == 1
    assert victim.read_bytes() == whole
    assert og.verify_backup(tmp_path / "backups").ok
    assert said(og.restore(tmp_path / "backups", tmp_path / "again", id=done.id)) == said(graph)


def test_what_was_copied_is_read_back(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = LocalStore.upload

    def careless(self: LocalStore, path: str, file: Path) -> None:
        upload(self, path, file)
        if path.startswith("objects/") and file.suffix == ".lance":
            data = Path(self.root_uri, path).read_bytes()
            Path(self.root_uri, path).write_bytes(data[:-1] + b"?")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "upload", careless)
        with pytest.raises(CorruptState, match="not what was copied"):
            graph.backup(tmp_path / "backups")
    assert og.backups(tmp_path / "backups") == []


def test_a_file_that_the_graph_has_lost_is_named(graph: og.Graph, tmp_path: Path) -> None:
    victim = sorted(Path(graph.uri, "nodes").rglob("data/*.lance"))[0]
    victim.unlink()
    with pytest.raises(CorruptState, match=victim.name):
        graph.backup(tmp_path / "backups")
    assert og.backups(tmp_path / "backups") == []
    assert holds(graph) == []


def test_commits_that_a_cleanup_drops_meanwhile_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cleanup runs after the backup has looked, and before it copies."""
    graph = og.init(tmp_path / "graph", PEOPLE)
    made = fill(graph, 4)
    graph.mutate('query q() { update Person set { note: "x" } where name = "p1" }')
    graph.branches.create("side")
    fill(graph, 2, 10, "side")
    at_once(monkeypatch)

    def interfere() -> None:
        other = og.open(tmp_path / "graph")
        other.branches.delete("side")
        other.optimize()
        assert other.cleanup(keep=1).files > 0

    before = {branch: graph.snapshot(branch).commit_id for branch in ("main", "side")}
    with meanwhile("backup.after_view", interfere):
        done = graph.backup(tmp_path / "backups")
    assert done.heads == before
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert restored.branches.list() == ["main", "side"]
    assert sorted(contents(restored.snapshot("side"))["node:Person"]) == [
        "p0",
        "p1",
        "p10",
        "p11",
        "p2",
        "p3",
    ]
    with pytest.raises(HistoricalVersionReclaimed):
        restored.snapshot(commit=made[0])
    assert restored.repair().findings == ()


def test_without_a_hold_a_head_that_is_dropped_meanwhile_makes_the_backup_look_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = og.init(tmp_path / "graph", PEOPLE)
    fill(writer, 3)
    at_once(monkeypatch)

    def interfere() -> None:
        other = og.open(tmp_path / "graph")
        insert(other, f"q{len(other.commits.list())}")
        other.optimize()
        other.cleanup(keep=1)

    reader = og.open(tmp_path / "graph", read_only=True)
    with meanwhile("backup.after_view", interfere):
        done = reader.backup(tmp_path / "backups")
    assert done.heads["main"] == og.open(tmp_path / "graph").snapshot().commit_id
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert said(restored) == said(og.open(tmp_path / "graph"))


def test_without_a_hold_a_backup_of_tagged_heads_has_what_merges_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both heads stay, and so does what a merge of branches that begin there would start from."""
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("dev")
    insert(graph, "d1", "dev")
    graph.branches.merge("dev")
    for number in range(4):
        insert(graph, f"m{number}")
        insert(graph, f"d{number + 2}", "dev")
    graph.tags.create("heads", branch="dev")
    tagged = graph.tags.create("main", branch="main").commit
    at_once(monkeypatch)

    def interfere() -> None:
        other = og.open(tmp_path / "graph")
        other.branches.merge("dev")
        other.cleanup(keep=1)

    reader = og.open(tmp_path / "graph", read_only=True)
    with meanwhile("backup.after_view", interfere):
        done = reader.backup(tmp_path / "backups")
    assert done.heads["main"] == tagged
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    restored.mutate('query q() { delete Person where name = "d1" }')
    insert(restored, "e", "dev")
    restored.branches.merge("dev")
    assert "d1" not in contents(restored.snapshot())["node:Person"]


@pytest.mark.parametrize("is_cleaned_up", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_branch_that_is_rebased_while_the_backup_looks_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cleaned_up: bool, is_known: bool
) -> None:
    """The rebase comes between the look at the names and the look at the heads."""
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("dev")
    insert(graph, "mine", "dev")
    insert(graph, "base")
    if not is_known:
        graph = og.open(tmp_path / "graph")
    at_once(monkeypatch)

    def interfere() -> None:
        other = og.open(tmp_path / "graph")
        assert other.branches.rebase("dev").outcome == "rebased"
        for _ in range(3 * is_cleaned_up):
            og.open(tmp_path / "graph").cleanup(keep=1)

    with before_state_of("dev", interfere):
        done = graph.backup(tmp_path / "backups")
    assert done.heads["dev"] == og.open(tmp_path / "graph").snapshot("dev").commit_id
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert {"mine", "base"} <= set(contents(restored.snapshot("dev"))["node:Person"])
    assert restored.repair().findings == ()


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_branch_that_is_deleted_while_the_backup_looks_is_what_its_name_stands_for(
    tmp_path: Path, is_made_again: bool
) -> None:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    graph.branches.create("dev")
    insert(graph, "mine", "dev")

    def interfere() -> None:
        other = og.open(tmp_path / "graph")
        other.branches.delete("dev")
        if is_made_again:
            other.branches.create("dev")
            insert(other, "second", "dev")

    with before_state_of("dev", interfere):
        done = graph.backup(tmp_path / "backups")
    assert set(done.heads) == ({"main", "dev"} if is_made_again else {"main"})
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert said(restored) == said(og.open(tmp_path / "graph"))


@contextmanager
def before_state_of(branch: str, act: Callable[[], None]) -> Iterator[None]:
    """Let something happen before the newest state of a branch is looked up for the first time."""
    state_of, waiting = Truth.state_of, [act]

    def interrupted(self: Truth, ref: BranchRef) -> BranchState:
        if ref.name == branch and waiting:
            waiting.pop()()
        return state_of(self, ref)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Truth, "state_of", interrupted)
        yield
    assert not waiting, f"nobody looked at {branch}"


def test_holds_are_hidden_and_those_of_a_killed_backup_go_with_time(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = graph.tags.list()
    seen: list[int] = []

    def look() -> None:
        assert graph.tags.list() == tags
        seen.append(len(holds(graph)))

    monkeypatch.setattr("omnigraph.graph.backup.holds.Holds.release", lambda self: None)
    with meanwhile("backup.after_view", look):
        graph.backup(tmp_path / "backups")
    assert seen[0] == len(holds(graph)) > 0
    assert not [item for item in graph.repair().findings if item.severity == "damage"]
    graph.cleanup()
    assert len(holds(graph)) == seen[0]
    monkeypatch.setenv("OMNIGRAPH_BACKUP_HOLD_SECONDS", "0")
    og.open(graph.uri).cleanup()
    assert holds(graph) == []
    with pytest.raises(InvalidName, match="used internally"):
        graph.tags.create("__backup/mine")


def test_progress_is_told_in_bytes(graph: og.Graph, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    done = graph.backup(tmp_path / "backups", progress=lambda *item: told.append(item))
    og.restore(tmp_path / "backups", tmp_path / "again", progress=lambda *item: told.append(item))
    og.verify_backup(tmp_path / "backups", progress=lambda *item: told.append(item))
    last = {what: (number, total) for what, number, total in told}
    assert set(last) == {"copy", "verify", "restore"}
    assert last["restore"] == (done.bytes, done.bytes)
    assert last["verify"] == (done.bytes_copied, done.bytes_copied)
    with pytest.raises(BadInput, match="progress"):
        graph.backup(tmp_path / "backups", progress="often")  # type: ignore[arg-type]


def test_an_error_in_the_middle_leaves_no_hold_and_no_backup(graph: og.Graph, tmp_path: Path) -> None:
    with failpoints.arm_temporarily("backup.after_files", "raise"), pytest.raises(InjectedFault):
        graph.backup(tmp_path / "backups")
    assert og.backups(tmp_path / "backups") == []
    assert holds(graph) == []
    assert graph.backup(tmp_path / "backups").files_copied == 0


def test_odd_arguments_are_refused_before_anything_is_written(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="since"):
        graph.backup(tmp_path / "backups", since=7)  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="01"):
        graph.backup(tmp_path / "backups", since="01")
    with pytest.raises(BadInput, match="memory"):
        graph.backup("memory://x")
    with pytest.raises(BadInput):
        graph.backup(7)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        graph.backup(tmp_path / "backups", branch="nobody")
    with pytest.raises(NotFound, match="no backups"):
        og.restore(tmp_path / "nothing", tmp_path / "again")
    assert not (tmp_path / "backups").exists()
