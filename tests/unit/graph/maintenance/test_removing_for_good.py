"""What the page about care says about removing data for good: it is in no file afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  mail: String? @index }
node Note { title: String @key }
edge Knows: Person -> Person { since: Date? }
"""


def _files_with(place: Path, word: str) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def _graph_that_has_deleted(place: Path) -> og.Graph:
    """Make a graph in which a row among many, the only row of its type and an edge were deleted."""
    graph = og.init(str(place), SCHEMA, actor="ada")
    graph.load(
        [{"type": "Person", "data": {"name": f"p{number}", "mail": f"m{number}"}} for number in range(100)],
        mode="append",
    )
    graph.mutate(
        """query q() {
          insert Person { name: "forgotten-key", mail: "forgotten-mail" }
          insert Note { title: "forgotten-note" }
          insert Knows { from: "p1", to: "forgotten-key" }
          insert Knows { from: "p1", to: "p2" }
        }"""
    )
    graph.optimize()
    graph.mutate(
        """query q() {
          delete Person where name = "forgotten-key"
          delete Note where title = "forgotten-note"
        }"""
    )
    return graph


def test_a_cleanup_alone_leaves_a_deleted_row_in_the_file_that_it_shares(tmp_path: Path) -> None:
    graph = _graph_that_has_deleted(tmp_path / "g")
    graph.optimize()
    graph.cleanup(keep=1)
    assert _files_with(tmp_path / "g", "forgotten-mail")


@pytest.mark.parametrize("word", ["forgotten-key", "forgotten-mail", "forgotten-note"])
def test_what_was_deleted_is_in_no_file_after_an_overwrite_and_a_cleanup(tmp_path: Path, word: str) -> None:
    graph = _graph_that_has_deleted(tmp_path / "g")
    assert _files_with(tmp_path / "g", word)
    graph.export(str(tmp_path / "all.ndjson"))
    graph.load(str(tmp_path / "all.ndjson"), mode="overwrite", message="removed for good")
    (tmp_path / "Note.csv").write_text("title\n")  # no record names a type without rows
    graph.load(str(tmp_path / "Note.csv"), type="Note", mode="overwrite")
    graph.cleanup(keep=1)
    assert _files_with(tmp_path / "g", word) == []
    assert graph.query("query q() { match { $a: Person  $a knows $b } return { $b.name } }").scalar() == "p2"
