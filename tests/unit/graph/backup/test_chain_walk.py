"""What a backup finds of chains: beside cleanups, after cleanups, and where a record is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import CorruptState, HistoricalVersionReclaimed
from omnigraph.graph.backup.chain_walk import ChainWalk
from support.backups import insert, said
from support.care import PEOPLE, at_once, fill, open_again
from support.graphs import contents


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", PEOPLE)


def test_a_chain_that_a_cleanup_removes_while_its_end_is_looked_for_is_looked_at_again(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    fill(graph, 3)
    graph.branches.create("dev")
    insert(graph, "d", "dev")
    insert(graph, "m")
    graph.branches.merge("dev", delete_branch=True)
    looks: list[ChainWalk] = []
    look_for_ends = ChainWalk.end_chains

    def interrupted(self: ChainWalk) -> None:
        looks.append(self)
        if len(looks) == 1:
            assert open_again(graph.uri).cleanup(keep=1).commits_dropped
        look_for_ends(self)

    monkeypatch.setattr(ChainWalk, "end_chains", interrupted)
    done = og.open(graph.uri, read_only=True).backup(tmp_path / "backups")
    assert len(looks) == 2
    assert done.heads == {"main": graph.snapshot().commit_id}
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert restored.repair().findings == ()
    assert contents(restored.snapshot()) == contents(graph.snapshot())


def _merge_from_two(graph: og.Graph) -> str:
    """Let main merge r between two merges of q; return the merge of r, which later merges start from."""
    insert(graph, "a")
    for name in ("q", "r"):
        graph.branches.create(name)
        insert(graph, f"{name}1", name)
    insert(graph, "m0")
    graph.branches.merge("q")
    insert(graph, "m1")
    insert(graph, "r2", "r")
    insert(graph, "q2", "q")
    merged = graph.branches.merge("r").commit_id
    assert merged is not None
    graph.branches.merge("q")
    return merged


@pytest.mark.parametrize("way", ["again", "since"])
def test_a_later_backup_knows_what_is_kept_for_merges_alone(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    at_once(monkeypatch)
    merged = _merge_from_two(graph)
    graph.cleanup(keep=1)
    first = graph.backup(tmp_path / "backups")
    graph.backup(tmp_path / "backups", since=first.heads["main"] if way == "since" else None)
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    for either in (graph, restored):
        with pytest.raises(HistoricalVersionReclaimed, match="for merges only"):
            either.branches.create("x", commit=merged)


def test_a_commit_that_later_became_one_for_merges_alone_is_that_in_a_later_backup(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    merged = _merge_from_two(graph)
    graph.backup(tmp_path / "backups")
    graph.cleanup(keep=1)
    graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    with pytest.raises(HistoricalVersionReclaimed, match="for merges only"):
        restored.branches.create("x", commit=merged)


def test_a_graph_that_has_a_dropped_table_back_is_backed_up_with_it(graph: og.Graph, tmp_path: Path) -> None:
    fill(graph, 2)
    graph.load([{"edge": "Knows", "from": "p0", "to": "p1"}], mode="append")
    before = graph.backup(tmp_path / "first")
    graph.schema.apply(
        "\n".join(line for line in PEOPLE.splitlines() if "Knows" not in line), allow_data_loss=True
    )
    graph.backup(tmp_path / "second")
    restored = og.restore(tmp_path / "first", tmp_path / "older")
    assert restored.backup(tmp_path / "second").heads == before.heads
    again = og.restore(tmp_path / "second", tmp_path / "again")
    assert said(again) == said(restored)


def _record(graph: og.Graph, commit: str) -> Path:
    """Return the file of a commit."""
    for path in Path(graph.uri, "__manifest", "chains").rglob("*.json"):
        if f'"{commit}"' in path.read_text().split('"parent"')[0]:
            return path
    raise AssertionError(commit)


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("branch", ["main", "gone"])
def test_a_lost_record_is_named_and_never_hidden(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cleaned: bool, known: bool, branch: str
) -> None:
    at_once(monkeypatch)
    fill(graph, 6)
    graph.branches.create("gone")
    side = [insert(graph, f"g{number}", "gone") for number in range(3)]
    graph.branches.merge("gone", delete_branch=True)
    graph.tags.create("kept", commit=side[1])
    line = fill(graph, 4, 20)
    if cleaned:
        assert graph.cleanup(keep=8).commits_dropped
    if known:
        graph.backup(tmp_path / "backups")
    lost = _record(graph, side[1] if branch == "gone" else line[1])
    lost.unlink()
    with pytest.raises(CorruptState, match=f"{lost.name}.*no cleanup.*omnigraph repair") as caught:
        open_again(graph.uri).backup(tmp_path / "backups")
    assert Path(graph.uri, caught.value.path) == lost
    assert len(og.backups(tmp_path / "backups")) == known


def test_a_lost_fork_point_is_named(graph: og.Graph, tmp_path: Path) -> None:
    fill(graph, 3)
    graph.branches.create("dev")
    insert(graph, "d", "dev")
    fork = graph.snapshot().commit_id
    fill(graph, 3, 10)
    lost = _record(graph, fork)
    lost.unlink()
    with pytest.raises(CorruptState, match=lost.name):
        open_again(graph.uri).backup(tmp_path / "backups")


def test_the_lost_end_of_a_merged_branch_is_damage(graph: og.Graph, tmp_path: Path) -> None:
    graph.branches.create("gone")
    insert(graph, "g", "gone")
    insert(graph, "m")
    graph.branches.merge("gone", delete_branch=True)
    blocks = Path(graph.uri, "__manifest", "chains").glob("*/*")
    ended = next(folder for folder in blocks if '"gone"' in sorted(folder.iterdir())[0].read_text())
    sorted(ended.iterdir())[-1].unlink()
    with pytest.raises(CorruptState, match=r"0003\.json is lost"):
        open_again(graph.uri).backup(tmp_path / "backups")
