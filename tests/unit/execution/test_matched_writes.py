"""Mutations write what a `match` finds: new rows and edges for each row of it, and the rows themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.workers import Workers

PARKED = "publish.before_record"
SCHEMA = """
node Person { name: String @key  n: I64 @default(0)  age: I32?  tags: [String]? }
node Tag { name: String @key  size: I64?  note: String? }
node Log { text: String  n: I64? }
edge Knows: Person -> Person { weight: F64? }
edge Has: Person -> Tag { w: F64?  @key(src, dst) }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Three people: ada knows both others, bob knows cyd."""
    made = og.init(tmp_path / "graph", SCHEMA)
    people = [("ada", 40), ("bob", 20), ("cyd", 50)]
    known = [("ada", "bob"), ("ada", "cyd"), ("bob", "cyd")]
    made.load(
        [
            *({"type": "Person", "data": {"name": name, "age": age}} for name, age in people),
            *({"edge": "Knows", "from": a, "to": b} for a, b in known),
        ],
        mode="append",
    )
    return made


def _of(graph: og.Graph, name: str, *wanted: str) -> list[tuple[Any, ...]]:
    """Return some values of the rows of a type, in order."""
    rows = [item for item in graph.export() if name in (item.get("type"), item.get("edge"))]
    return sorted((tuple((item["data"] | item).get(key) for key in wanted) for item in rows), key=repr)


def _run(graph: og.Graph, text: str, **params: Any) -> og.Mutation:
    declared = ", ".join(f"${name}: I64" for name in params)
    return graph.mutate(f"query q({declared}) {{ {text} }}", params)


def test_a_row_and_its_edge_are_inserted_for_each_match(graph: og.Graph) -> None:
    done = _run(
        graph,
        """match { $p: Person  $p.age > 30 }
        insert Tag { name: "t-" + $p.name, size: $p.age * $k, note: "old" }
        insert Has { from: $p, to: "t-" + $p.name, w: $p.age / 2 }
        insert Log { text: upper($p.name) }""",
        k=2,
    )
    assert (done.affected_nodes, done.affected_edges) == (4, 2)
    assert _of(graph, "Tag", "name", "size", "note") == [("t-ada", 80, "old"), ("t-cyd", 100, "old")]
    assert _of(graph, "Has", "from", "to", "w") == [("ada", "t-ada", 20.0), ("cyd", "t-cyd", 25.0)]
    assert _of(graph, "Log", "text") == [("ADA",), ("CYD",)]


def test_edges_are_drawn_between_what_is_matched(graph: og.Graph) -> None:
    done = _run(graph, "match { $a: Person  $a knows{2,2} $b } insert Knows { from: $b, to: $a, weight: 1 }")
    assert done.affected_edges == 0 and done.commit_id is None
    done = _run(graph, "match { $a: Person  $a knows $b } insert Knows { from: $b, to: $a, weight: $b.age }")
    assert done.affected_edges == 3
    reverse = [row for row in _of(graph, "Knows", "from", "to", "weight") if row[2] is not None]
    assert reverse == [("bob", "ada", 20.0), ("cyd", "ada", 50.0), ("cyd", "bob", 50.0)]


def test_equal_rows_of_a_match_make_one_row_and_different_ones_none(graph: og.Graph) -> None:
    done = _run(graph, "match { $a: Person  $a knows $b } insert Tag { name: $a.name, size: $a.age }")
    assert done.affected_nodes == 2
    head = graph.snapshot().commit_id
    with pytest.raises(og.ValidationError, match="different values for Tag 'ada'"):
        _run(graph, "match { $a: Person  $a knows $b } insert Tag { name: $a.name, size: $b.age }")
    with pytest.raises(og.ValidationError, match="different values for Person 'ada'"):
        _run(graph, "match { $a: Person  $a knows $b } update $a set { n: $b.age }")
    assert graph.snapshot().commit_id == head


def test_what_is_matched_is_updated_by_what_it_was_before(graph: og.Graph) -> None:
    done = _run(
        graph,
        """match { $a: Person  $a $e:knows $b  $b.age > 30 }
        update $e set { weight: coalesce(weight, 0.5) + $b.age }
        update $b set { n: n + $k, tags: split($b.name, "y") }""",
        k=3,
    )
    assert (done.affected_nodes, done.affected_edges) == (1, 2)
    assert _of(graph, "Person", "name", "n", "tags")[2] == ("cyd", 3, ["c", "d"])
    weights = _of(graph, "Knows", "from", "to", "weight")
    assert weights == [("ada", "bob", None), ("ada", "cyd", 50.5), ("bob", "cyd", 50.5)]


def test_an_upsert_sets_what_is_there_and_adds_what_is_not(graph: og.Graph) -> None:
    _run(graph, 'insert Tag { name: "ada" size: 1 note: "kept" }')
    done = _run(graph, "match { $p: Person } upsert Tag { name: $p.name, size: $p.age }")
    assert done.affected_nodes == 3
    rows = [("ada", 40, "kept"), ("bob", 20, None), ("cyd", 50, None)]
    assert _of(graph, "Tag", "name", "size", "note") == rows


def test_what_is_matched_is_deleted_with_its_edges(graph: og.Graph) -> None:
    done = _run(graph, "match { $a: Person  $a $e:knows $b  $b.age < 30 } delete $e")
    assert (done.affected_nodes, done.affected_edges) == (0, 1)
    done = _run(graph, "match { $a: Person  not { $a knows $b } } delete $a")
    assert (done.affected_nodes, done.affected_edges) == (1, 2)
    assert _run(graph, "match { $a: Person  $a.age > 1000 } delete $a").commit_id is None


def test_what_an_optional_block_has_not_found_is_neither_an_end_nor_written(graph: og.Graph) -> None:
    done = _run(graph, "match { $a: Person  optional { $a knows $b } } update $b set { n: 1 }")
    assert done.affected_nodes == 2
    with pytest.raises(og.ValidationError, match=r"Knows\.to has no value in a row of the match"):
        _run(graph, "match { $a: Person  optional { $a knows $b } } insert Knows { from: $a, to: $b }")


def test_a_match_without_names_counts_its_rows(graph: og.Graph) -> None:
    assert _run(graph, 'match { $_: Person } insert Log { text: "x" }').affected_nodes == 3


def test_a_computation_without_a_result_is_refused(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match=r"a row of the match: Log\.n .*division by zero"):
        _run(graph, 'match { $p: Person } insert Log { text: "x", n: div(1, $p.age - 20) }')
    with pytest.raises(og.ValidationError, match=r"Tag\.name is part of the key"):
        _run(graph, "match { $p: Person } upsert Tag { name: $p.tags[0] }")


def test_more_rows_than_a_mutation_may_touch_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_MUTATION_ROWS", "2")
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "Log", "data": {"text": str(n)}} for n in range(3)], mode="append")
    with pytest.raises(og.ResourceLimit, match="matches 3 rows, the limit is 2"):
        _run(graph, "match { $l: Log } update $l set { n: 1 }")


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        ('insert Log { text: "x" }', False),
        ("update Person set { n: 7 } where age < 30", False),
        ("update Person set { age: 41 } where age = 40", True),
        ('insert Person { name: "dee" age: 99 }', True),
    ],
)
@pytest.mark.parametrize("retry", [0, 3])
def test_what_a_match_reads_conflicts_when_it_changed(
    other: str, conflict: bool, retry: int, graph: og.Graph, workers: Workers
) -> None:
    uri, slow = graph.uri, workers.take()
    text = "query q() { match { $p: Person  $p.age > 30 } insert Tag { name: $p.name, size: $p.age } }"
    env = {"OMNIGRAPH_TURN_SECONDS": "0.02"}
    slow.tell("mutate", uri, text, None, None, retry, failpoints=f"{PARKED}=park@1", env=env)
    slow.wait_parked(PARKED)
    _run(graph, other)
    slow.release(PARKED)
    if conflict and not retry:
        with pytest.raises(og.ExpectedVersionMismatch, match="what the match finds"):
            slow.answer()
        assert _of(graph, "Tag", "name") == []
    else:
        slow.answer()
        people = graph.query(
            "query q() { match { $p: Person  $p.age > 30 } return { $p.name as n, $p.age as a } }"
        )
        assert _of(graph, "Tag", "name", "size") == sorted((row["n"], row["a"]) for row in people.rows)
