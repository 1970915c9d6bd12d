"""Notes about forks, and what happens when one is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import BranchInUse
from support.care import INSERT, PEOPLE, fill


def flip(path: Path) -> str:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return path.name


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 1)
    graph.branches.create("dev")
    fill(graph, 1, 10, "dev")
    graph.branches.create("kid", from_branch="dev")
    fill(graph, 1, 30)
    (note,) = Path(graph.uri).glob("__manifest/forks/*/*.json")
    flip(note)
    return graph


def test_a_damaged_note_still_keeps_the_parent_of_a_live_branch(graph: og.Graph) -> None:
    for end in (graph.branches.delete, graph.branches.rebase):
        with pytest.raises(BranchInUse, match="kid"):
            end("dev")
    fill(graph, 1, 20, "kid")
    with pytest.raises(BranchInUse, match="kid"):
        graph.branches.delete("dev")


def test_a_damaged_note_of_a_deleted_branch_stops_nobody(graph: og.Graph) -> None:
    graph.branches.delete("kid")
    assert graph.branches.rebase("dev").outcome
    graph.branches.delete("dev")
    assert graph.branches.list() == ["main"]


def test_repair_names_damaged_notes_claims_and_lists(graph: og.Graph) -> None:
    graph.mutate(INSERT, {"n": "keyed", "t": ""}, idempotency_key="k")
    graph.cleanup(keep=1)
    manifest = Path(graph.uri, "__manifest")
    damaged = {"note_unreadable": next(manifest.glob("forks/*/*"))}
    for code, place in (("claim_unreadable", "keys/*/*"), ("list_unreadable", "cleanup/condemned/*")):
        damaged[code] = next(manifest.glob(place))
        flip(damaged[code])
    repaired = og.open(graph.uri).repair()
    assert not repaired.ok
    assert {item.code: item.where for item in repaired.findings if item.severity == "damage"} == {
        code: str(path.relative_to(graph.uri)) for code, path in damaged.items()
    }


def test_a_note_that_is_lost_is_told_and_made_again(graph: og.Graph) -> None:
    (note,) = Path(graph.uri).glob("__manifest/forks/*/*.json")
    note.unlink()
    (told,) = og.open(graph.uri).repair().findings
    assert (told.code, told.where, told.severity) == ("note_lost", str(note.relative_to(graph.uri)), "damage")
    assert og.open(graph.uri).repair(confirm=True).ok
    with pytest.raises(BranchInUse, match="kid"):
        og.open(graph.uri).branches.delete("dev")
