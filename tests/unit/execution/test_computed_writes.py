"""Mutations compute: in what they assign and in `where`; what has no result is refused with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.workers import Workers

PARKED = "publish.before_record"
SCHEMA = """
node Person {
  name: String @key  n: I64 @default(0)  age: I32?  active: Bool?  tags: [String]?  count: I64?
  f: F64?  d: Date?  t: DateTime?  e: enum(a, b)?  v: Vector(2)?  w: Vector(2)?  photo: Blob?
}
edge Knows: Person -> Person { weight: F64?  @key(src, dst) }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with two people who know each other."""
    made = og.init(tmp_path / "graph", SCHEMA)
    ada = {"name": "ada", "n": 5, "age": 30, "tags": ["x", "y"], "count": 1, "v": [1, 2], "d": "2024-02-28"}
    bob = {"name": "bob", "n": 7, "active": True}
    made.load([{"type": "Person", "data": data} for data in (ada, bob)], mode="append")
    made.load([{"edge": "Knows", "from": "ada", "to": "bob", "data": {"weight": 0.5}}], mode="append")
    return made


def _row(graph: og.Graph, name: str) -> dict[str, Any]:
    for item in graph.export():
        if item.get("type") == "Person" and item["data"]["name"] == name:
            return dict(item["data"])
    raise AssertionError(name)


def test_an_update_computes_from_the_old_values(graph: og.Graph) -> None:
    graph.mutate(
        "query q() { update Person set { n: n * 2 + count, count: n, w: v, tags: slice(tags, 1), d: d + 2, "
        'f: n / 2, t: to_datetime(d), e: case when age > 18 then "a" else "b" end } where name = "ada" }'
    )
    ada = _row(graph, "ada")
    assert (ada["n"], ada["count"], ada["w"], ada["tags"]) == (11, 5, [1.0, 2.0], ["y"])
    assert (ada["d"], ada["f"], ada["t"], ada["e"]) == ("2024-03-01", 2.5, "2024-02-28T00:00:00.000Z", "a")


def test_a_property_may_be_called_like_a_word_of_the_language(graph: og.Graph) -> None:
    done = graph.mutate("query q() { update Person set { count: count+1 age: age -1 } where count - 1 = 0 }")
    assert done.affected_nodes == 1
    assert (_row(graph, "ada")["count"], _row(graph, "ada")["age"]) == (2, 29)


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("length(name) = 3 and n + 1 > 6", ["bob"]),
        ("active", ["bob"]),
        ("not active", []),
        ('tags contains "x"', ["ada"]),
        ('name starts_with "b" or 10 / (n - 7) > 0', ["bob"]),
        ("(n - 1) * 2 = 8", ["ada"]),
        ("n % 2 = 1 and count is not null", ["ada"]),
        ("age > n", ["ada"]),
        ('upper(name) in ["ADA", "X"]', ["ada"]),
        ("lower($x) = name", ["bob"]),
        ("coalesce(age, 0) = 0", ["bob"]),
        ("(age is null) = active", ["bob"]),
    ],
)
def test_where_computes(where: str, names: list[str], graph: og.Graph) -> None:
    done = graph.mutate(
        f"query q($x: String) {{ update Person set {{ f: 1.5 }} where {where} }}", {"x": "BOB"}
    )
    assert done.affected_nodes == len(names)
    assert [name for name in ("ada", "bob") if _row(graph, name)["f"] == 1.5] == names


def test_an_insert_computes_from_its_parameters(graph: og.Graph) -> None:
    text = """query q($a: String, $n: I64) {
      insert Person { name: lower(trim($a)), n: $n * 2, age: 3 - 1, tags: split("p q", " ") }
      insert Knows { from: lower(trim($a)), to: "a" + "da", weight: $n / 4 }
    }"""
    graph.mutate(text, {"a": " Cyd ", "n": 3})
    cyd = _row(graph, "cyd")
    assert (cyd["n"], cyd["age"], cyd["tags"]) == (6, 2, ["p", "q"])


def test_an_upsert_counts_up_from_the_row_or_from_its_default(graph: og.Graph) -> None:
    count = "query q($a: String) { upsert Person { name: $a, n: n + 1, count: coalesce(count, 10) + n } }"
    for name in ("ada", "new", "new"):
        graph.mutate(count, {"a": name})
    assert [(_row(graph, name)["n"], _row(graph, name)["count"]) for name in ("ada", "new")] == [
        (6, 6),
        (2, 11),
    ]
    graph.mutate('query q() { upsert Knows { from: "ada" to: "bob" weight: weight * 4 } }')
    weights = graph.query("query q() { match { $a $k:knows $b } return { $k.weight as w } }")
    assert [row["w"] for row in weights.rows] == [2.0]


def test_later_statements_compute_from_what_earlier_ones_did(graph: og.Graph) -> None:
    graph.mutate(
        'query q() { insert Person { name: "x" n: 1 } update Person set { n: n + 1 } where n < 6 '
        "update Person set { n: n * 10 } where n = 2 or n = 6 }"
    )
    assert [_row(graph, name)["n"] for name in ("ada", "bob", "x")] == [60, 7, 20]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "update Person set { n: n + 9223372036854775807 } where n > 0",
            "node 'ada': Person.n cannot be com",
        ),
        ("update Person set { age: 2000000000 * n } where id is not null", "Person.age.*exceeds the range"),
        ("update Person set { f: 1 / (n - 7) } where n = 7", "node 'bob': Person.f .*division by zero"),
        ("insert Person { name: to_string(div(1, 0)) }", "statement 1: Person.name cannot be computed: div"),
        ('insert Person { name: split("a", " ")[3] }', "Person.name"),
        ('insert Knows { from: split("a", " ")[3] to: "ada" }', "Knows.from needs a value"),
        ("update Person set { n: age } where id is not null", "node 'bob': Person.n is required"),
        ("update Person set { e: name } where n = 5", "Person.e"),
        ('upsert Person { name: "new" n: age + 1 }', "Person.n is required"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_row(statement: str, message: str, graph: og.Graph) -> None:
    head = graph.snapshot().commit_id
    with pytest.raises(og.ValidationError, match=message):
        graph.mutate(f"query q() {{ {statement} }}")
    assert graph.snapshot().commit_id == head


def test_a_column_that_is_only_read_conflicts_when_it_changed(tmp_path: Path, workers: Workers) -> None:
    uri = str(tmp_path / "graph")
    graph = og.init(uri, SCHEMA)
    graph.mutate('query q() { insert Person { name: "ada" n: 1 age: 1 count: 1 } }')
    reads = 'query q() { update Person set { count: n + 1 } where name = "ada" }'
    for other, conflict in (("age: age + 1", False), ("n: n + 1", True)):
        slow = workers.take()
        slow.tell("mutate", uri, reads, failpoints=f"{PARKED}=park@1", env={"OMNIGRAPH_TURN_SECONDS": "0.02"})
        slow.wait_parked(PARKED)
        graph.mutate(f'query q() {{ update Person set {{ {other} }} where name = "ada" }}')
        slow.release(PARKED)
        if conflict:
            with pytest.raises(og.ExpectedVersionMismatch):
                slow.answer()
        else:
            slow.answer()
    assert (_row(graph, "ada")["n"], _row(graph, "ada")["count"]) == (2, 2)


def test_lists_of_values_are_stored_and_one_that_holds_null_is_refused(graph: og.Graph) -> None:
    text = """query q($s: String, $n: F64) {
      update Person set { tags: [name, $s, lower("Z")], v: [n, $n] } where name in [$s, "ada"]
    }"""
    assert graph.mutate(text, {"s": "none", "n": 0.5}).affected_nodes == 1
    row = _row(graph, "ada")
    assert (row["tags"], row["v"]) == (["ada", "none", "z"], [5.0, 0.5])
    for value, why in (
        ("[e, name]", "null does not fit String"),
        ("[$s]", "null does not fit String"),
        ('[to_string(1 / 0), "x"]', "division by zero"),
    ):
        wrong = f'query q($s: String?) {{ update Person set {{ tags: {value} }} where name = "ada" }}'
        with pytest.raises(og.ValidationError, match=f"Person.tags cannot be computed: {why}"):
            graph.mutate(wrong, {"s": None})
    with pytest.raises(og.ValidationError, match="F32"):
        graph.mutate('query q($n: F64) { update Person set { v: [$n, 1] } where name = "ada" }', {"n": 1e300})
    assert _row(graph, "ada") == row
