"""Old commits answer to the names that types and properties had then, and to those that they have now."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import NotFound, TypeCheckError

BEFORE = "node Film { slug: String @key  year: I32? }\nedge Next: Film -> Film { rank: I32? }"
AFTER = """
node Movie @rename_from("Film") { slug: String @key  released: I32? @rename_from("year") }
edge Sequel: Movie -> Movie @rename_from("Next") { place: I32? @rename_from("rank") }
"""
OLD = "query q() { match { $f: Film {year: 1} $f $e: next $g } return { $f.slug, $f.year, $e.rank } }"
NEW = """
query q() { match { $f: Movie {released: 1} $f $e: sequel $g } return { $f.slug, $f.released, $e.place } }
"""
MIXED = "query q() { match { $f: Movie  $f next $g  $f.year = 1 } return { $f.released } order { $f.year } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", BEFORE)
    graph.load(
        [
            {"type": "Film", "data": {"slug": "a", "year": 1}},
            {"type": "Film", "data": {"slug": "b"}},
            {"edge": "Next", "from": "a", "to": "b", "data": {"rank": 7}},
        ],
        mode="append",
    )
    graph.tags.create("before")
    return graph


def test_queries_find_what_was_renamed_under_both_names(graph: og.Graph) -> None:
    prepared = graph.prepare(OLD)
    old = graph.snapshot()
    graph.schema.apply(AFTER)
    assert old.query(OLD).rows == prepared(snapshot="before").rows
    assert old.query(OLD).rows == [{"f.slug": "a", "f.year": 1, "e.rank": 7}]
    expected = [{"f.slug": "a", "f.released": 1, "e.place": 7}]
    assert old.query(NEW).rows == expected
    assert graph.query(NEW, snapshot=old.commit_id).rows == expected
    assert graph.prepare(NEW)(snapshot="before").rows == expected
    assert [row for batch in old.stream(NEW) for row in batch.to_pylist()] == expected
    assert old.query(MIXED).rows == [{"f.released": 1}]
    assert "Film" in str(old.explain(NEW))
    assert graph.query(NEW).rows == expected
    with pytest.raises(TypeCheckError):
        graph.query(OLD)


def test_exports_find_what_was_renamed_under_both_names_and_write_the_names_of_the_commit(
    graph: og.Graph,
) -> None:
    graph.schema.apply(AFTER)
    for names in (["Film", "Next"], ["Movie", "Sequel"], ["node:Movie", "edge:Next"]):
        found = [
            item.get("type") or item.get("edge") for item in graph.export(snapshot="before", types=names)
        ]
        assert found == ["Film", "Film", "Next"]
    with pytest.raises(NotFound, match="Song"):
        list(graph.export(snapshot="before", types=["Song"]))
    with pytest.raises(NotFound):
        list(graph.export(types=["Film"]))


def test_a_name_that_the_old_schema_had_means_what_it_meant_there(graph: og.Graph) -> None:
    graph.schema.apply(AFTER)
    reused = AFTER.replace("slug: String @key", "slug: String @key  year: String?")
    graph.schema.apply(f"{reused}\nnode Film {{ reel: String }}")
    rows = graph.query("query q() { match { $f: Film } return { $f.slug, $f.year } }", snapshot="before").rows
    assert rows == [{"f.slug": "a", "f.year": 1}, {"f.slug": "b", "f.year": None}]
    with pytest.raises(TypeCheckError, match="reel"):
        graph.query("query q() { match { $f: Film } return { $f.reel } }", snapshot="before")
    both = 'query q() { match { $m: Movie {slug: "a"} } return { $m.released, $m.year } }'
    assert graph.query(both, snapshot="before").rows == [{"m.released": 1, "m.year": 1}]


def test_a_name_that_was_dropped_and_declared_again_is_not_the_old_type(graph: og.Graph) -> None:
    graph.schema.apply("node Other { slug: String @key }", allow_drop=True)
    graph.schema.apply("node Other { slug: String @key }\nnode Song { slug: String @key }")
    with pytest.raises(TypeCheckError, match="Song"):
        graph.query("query q() { match { $s: Song } return { $s.slug } }", snapshot="before")


def test_types_that_two_branches_added_are_not_taken_for_each_other(graph: og.Graph) -> None:
    graph.branches.create("dev")
    dev = og.open(graph.uri, branch="dev")
    dev.schema.apply(f"{BEFORE}\nnode Song {{ title: String }}")
    graph.schema.apply(f"{BEFORE}\nnode Play {{ title: String }}")
    added = dev.snapshot().commit_id
    for handle in (graph, dev):
        with pytest.raises(TypeCheckError, match="Play"):
            handle.query("query q() { match { $p: Play } return { $p.title } }", snapshot=added)


def test_a_mistake_is_told_against_the_schema_of_the_commit(graph: og.Graph) -> None:
    graph.schema.apply(AFTER)
    with pytest.raises(TypeCheckError, match="no property 'length'"):
        graph.query("query q() { match { $f: Movie } return { $f.length } }", snapshot="before")
