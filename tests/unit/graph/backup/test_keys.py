"""Idempotency keys in backups: what a restored graph holds is not written again, and what it lacks is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from support.backups import meanwhile
from support.care import at_once

LOG = "node Log { text: String }"
ADD = "query q($t: String) { insert Log { text: $t } }"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    at_once(monkeypatch)
    return og.init(tmp_path / "graph", LOG)


def add(graph: og.Graph, text: str, has_key: bool = True) -> str | None:
    """Insert a line under a key of the same name; a key that is remembered inserts nothing."""
    return graph.mutate(ADD, {"t": text}, idempotency_key=text if has_key else None).commit_id


def lines(graph: og.Graph) -> list[str]:
    """Return all lines of a graph."""
    found = og.open(graph.uri).query("query q() { match { $l: Log } return { $l.text as t } }")
    return sorted(row["t"] for row in found.rows)


def drop_history(graph: og.Graph) -> None:
    """Let a cleanup drop all that has come before."""
    for _ in range(3):
        add(graph, "x", has_key=False)
    assert og.open(graph.uri).cleanup(keep=1).commits_dropped > 0


@pytest.mark.parametrize("is_backed_up", [True, False])
def test_a_key_whose_commit_a_cleanup_has_dropped_is_remembered(
    graph: og.Graph, tmp_path: Path, is_backed_up: bool
) -> None:
    first = add(graph, "once")
    if is_backed_up:
        graph.backup(tmp_path / "backups")
    drop_history(graph)
    graph = og.open(graph.uri)
    graph.backup(tmp_path / "backups")
    assert graph.backup(tmp_path / "backups").files_copied == 0
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert add(restored, "once") == first
    assert lines(restored).count("once") == 1


def come_and_go(graph: og.Graph) -> Callable[[], None]:
    """Return what writes with a key, and drops the commit that this was."""

    def act() -> None:
        add(og.open(graph.uri), "late")
        drop_history(og.open(graph.uri))

    return act


@pytest.mark.parametrize("point", ["backup.after_view", "backup.after_files"])
def test_a_key_is_remembered_if_and_only_if_its_write_is_part_of_the_backup(
    graph: og.Graph, tmp_path: Path, point: str
) -> None:
    """One write is dropped after the backup has seen it, another one comes and is dropped meanwhile."""
    first = add(graph, "early")
    add(graph, "x", has_key=False)
    graph = og.open(graph.uri)
    with meanwhile(point, come_and_go(graph)):
        graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert add(restored, "early") == first
    add(restored, "late")
    assert [lines(restored).count(text) for text in ("early", "late")] == [1, 1]


def test_a_write_whose_key_is_claimed_and_that_has_not_landed_is_done_in_the_restored_graph(
    graph: og.Graph, tmp_path: Path
) -> None:
    add(graph, "early")
    with meanwhile("backup.after_view", lambda: add(og.open(graph.uri), "late") and None):
        graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert lines(restored) == ["early"]
    add(restored, "late")
    assert lines(restored) == ["early", "late"]


def test_a_damaged_claim_is_left_out_and_told(
    graph: og.Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(graph, "one")
    (claim,) = Path(graph.uri, "__manifest", "keys").rglob("*.json")
    whole = claim.read_bytes()
    second = add(graph, "two")
    for damaged in (whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], b"", whole[:-1]):
        claim.write_bytes(damaged)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "omnigraph"):
            done = graph.backup(tmp_path / "backups")
        assert caplog.text.count(claim.name) == 1
        restored = og.restore(tmp_path / "backups", tmp_path / done.id)
        assert not (tmp_path / done.id / claim.relative_to(graph.uri)).exists()
        assert add(restored, "two") == second
        assert lines(restored) == ["one", "two"]


def test_the_key_of_a_proposal_answers_with_the_proposal_in_the_restored_graph(
    graph: og.Graph, tmp_path: Path
) -> None:
    graph.branches.create("a")
    made = graph.proposals.create("a", idempotency_key="once").id
    graph.backup(tmp_path / "backups")
    restored = og.restore(tmp_path / "backups", tmp_path / "again")
    assert restored.proposals.create("a", idempotency_key="once").id == made
