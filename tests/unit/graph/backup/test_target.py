"""Places of backups: one whose manifest is damaged among others, and addresses that cannot be one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import AlreadyExists, BadInput, CorruptState, NotFound, StorageMissing
from support.backups import insert, said
from support.care import PEOPLE, fill
from support.graphs import fingerprint


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 2)
    return graph


def flip(target: Path, backup: str) -> Path:
    """Damage the manifest of a backup."""
    path = target / "backups" / f"{backup}.json"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return path


def test_backups_beside_a_damaged_one_are_listed_and_it_is_named(graph: og.Graph, tmp_path: Path) -> None:
    target = tmp_path / "backups"
    ids = [graph.backup(target).id for _ in range(3)]
    flip(target, ids[1])
    found = og.backups(target)
    assert [item.id for item in found] == [ids[0], ids[2]]
    (damaged,) = found.unreadable
    assert (damaged.id, damaged.path, damaged.code) == (ids[1], f"backups/{ids[1]}.json", "corrupt_state")
    assert "restore it from a backup" not in damaged.error
    assert og.restore(target, tmp_path / "again").id == graph.id
    checked = og.verify_backup(target)
    assert (checked.ok, checked.backups, checked.files > 0) == (False, 3, True)
    assert [(item.path, item.of, item.backups) for item in checked.damage] == [
        (f"backups/{ids[1]}.json", "the manifest", (ids[1],))
    ]
    assert og.verify_backup(target, ids[2]).ok and not og.verify_backup(target, ids[1]).ok


def test_no_older_backup_is_taken_silently_for_a_damaged_one(graph: og.Graph, tmp_path: Path) -> None:
    target = tmp_path / "backups"
    first = graph.backup(target)
    before = said(graph)
    insert(graph, "later")
    second = graph.backup(target)
    path = flip(target, second.id)
    with pytest.raises(CorruptState, match=f"--id {first.id}.*{second.id}.json.*remove it") as caught:
        og.restore(target, tmp_path / "again")
    assert (caught.value.backup, caught.value.older) == (second.id, first.id)
    with pytest.raises(CorruptState, match=f"{second.id}.*use another backup"):
        og.restore(target, tmp_path / "again", id=second.id)
    assert not (tmp_path / "again").exists()
    assert said(og.restore(target, tmp_path / "older", id=first.id)) == before
    path.unlink()
    assert said(og.restore(target, tmp_path / "again")) == before
    flip(target, first.id)
    with pytest.raises(CorruptState, match="no other one there can be read"):
        og.restore(target, tmp_path / "none")


def test_a_backup_does_not_build_on_a_damaged_one(
    graph: og.Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target = tmp_path / "backups"
    damaged = graph.backup(target)
    flip(target, damaged.id)
    head = insert(graph, "later")
    with caplog.at_level(logging.WARNING, "omnigraph"):
        done = graph.backup(target)
    assert damaged.id in caplog.text
    assert [item.id for item in done.unreadable] == [damaged.id]
    assert said(og.restore(target, tmp_path / "again")) == said(graph)
    assert graph.backup(target).unreadable == ()
    flip(target, og.backups(target)[0].id)
    flip(target, og.backups(target)[0].id)
    with pytest.raises(NotFound, match=f"backup {done.id} cannot be read"):
        graph.backup(target, since=head)


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_file_cannot_become_a_place_of_backups_or_a_graph(
    graph: og.Graph, tmp_path: Path, below: str
) -> None:
    graph.backup(tmp_path / "backups")
    (tmp_path / "data.jsonl").write_text("mine")
    before = fingerprint(tmp_path)
    address = f"{tmp_path}/data.jsonl{below}"
    calls: list[Callable[[], object]] = [
        lambda: graph.backup(address),
        lambda: og.restore(tmp_path / "backups", address),
    ]
    for call in calls:
        with pytest.raises(AlreadyExists, match=r"data\.jsonl is a file, not a folder; choose another"):
            call()
    assert fingerprint(tmp_path) == before


def test_an_address_that_nothing_can_be_written_to_is_named(graph: og.Graph, tmp_path: Path) -> None:
    graph.backup(tmp_path / "backups")
    for call in (lambda: graph.backup("/proc/nope"), lambda: og.restore(tmp_path / "backups", "/proc/nope")):
        with pytest.raises(StorageMissing, match="/proc/nope does not exist and cannot be made"):
            call()
    for odd in ("a\ud800b", "s3://bucket/a\ud800b"):
        for call in (
            lambda odd=odd: graph.backup(odd),
            lambda odd=odd: og.backups(odd),
            lambda odd=odd: og.restore(odd, tmp_path / "again"),
            lambda odd=odd: og.restore(tmp_path / "backups", odd),
        ):
            with pytest.raises(BadInput, match="surrogate"):
                call()


@pytest.mark.parametrize("inside", ["", "/x", "/objects/x/y"])
def test_no_graph_is_made_among_backups(graph: og.Graph, tmp_path: Path, inside: str) -> None:
    graph.backup(tmp_path / "backups")
    for force in (False, True):
        with pytest.raises(BadInput, match="inside a place of backups"):
            og.init(f"{tmp_path}/backups{inside}", PEOPLE, force=force)
    og.init(tmp_path / "beside", PEOPLE)
