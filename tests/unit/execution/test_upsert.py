"""`upsert` sets what is given in the row that a key or an id names, and adds the row where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I64  mail: String? @unique  level: I32 @default(3)  body: Blob? }
node Log { text: String  n: I32? }
node Day { on: Date  seq: I32  word: String?  @key(on, seq) }
edge Knows: Person -> Person {
  since: Date?  weight: F64?  kind: String @default("friend")
  @key(src, dst, kind)
}
edge Saw: Person -> Log { n: I32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with two people, one of them with everything."""
    made = og.init(tmp_path / "graph", SCHEMA)
    ada = {"name": "ada", "age": 36, "mail": "a@b", "level": 9, "body": "base64:aGk="}
    people = [ada, {"name": "bob", "age": 1}]
    made.load([{"type": "Person", "data": data} for data in people], mode="append")
    return made


def _rows(graph: og.Graph, name: str) -> dict[str, Any]:
    records = [item for item in graph.export() if name in (item.get("type"), item.get("edge"))]
    return {
        item["data"].pop("id"): item["data"] | {key: item[key] for key in ("from", "to") if key in item}
        for item in records
    }


def _run(graph: og.Graph, *statements: str, **params: Any) -> og.Mutation:
    declared = ", ".join(f"${name}: String?" for name in params)
    return graph.mutate(f"query q({declared}) {{ {' '.join(statements)} }}", params)


def test_only_what_is_given_is_touched(graph: og.Graph) -> None:
    done = _run(graph, 'upsert Person { name: "ada" age: 37 }')
    assert (done.affected_nodes, done.affected_edges) == (1, 0)
    ada = {"name": "ada", "age": 37, "mail": "a@b", "level": 9, "body": "base64:aGk="}
    assert _rows(graph, "Person")["ada"] == ada


def test_a_null_that_is_given_is_stored(graph: og.Graph) -> None:
    _run(graph, 'upsert Person { name: "ada" mail: null body: null }')
    _run(graph, 'upsert Person { name: "bob" mail: $m }', m=None)
    rows = _rows(graph, "Person")
    assert (rows["ada"]["mail"], rows["ada"]["body"], rows["bob"]["mail"]) == (None, None, None)
    assert rows["ada"]["age"] == 36


def test_a_new_row_gets_its_defaults_and_must_have_what_is_required(graph: og.Graph) -> None:
    _run(graph, 'upsert Person { name: "cyd" age: 5 }')
    cyd = {"name": "cyd", "age": 5, "mail": None, "level": 3, "body": None}
    assert _rows(graph, "Person")["cyd"] == cyd
    head = graph.snapshot().commit_id
    with pytest.raises(
        og.ValidationError, match=r"missing required property Person\.age: no Person has the id 'dan'"
    ) as told:
        _run(graph, 'upsert Person { name: "ada" age: 0 }', 'upsert Person { name: "dan" mail: "d" }')
    assert told.value.details["problems"][0]["place"] == "statement 2"
    assert graph.snapshot().commit_id == head


def test_later_statements_see_the_row(graph: og.Graph) -> None:
    done = _run(
        graph,
        'upsert Person { name: "cyd" age: 5 }',
        'upsert Person { name: "cyd" mail: "c" }',
        'update Person set { level: 4 } where mail = "c"',
        'insert Person { name: "bob" age: 2 }',
        'upsert Person { name: "bob" mail: "b" }',
    )
    assert done.affected_nodes == 5
    rows = _rows(graph, "Person")
    assert rows["cyd"] == {"name": "cyd", "age": 5, "mail": "c", "level": 4, "body": None}
    assert rows["bob"] == {"name": "bob", "age": 2, "mail": "b", "level": 3, "body": None}


def test_edges_are_found_by_their_key(graph: og.Graph) -> None:
    _run(graph, 'upsert Knows { from: "ada" to: "bob" weight: 0.5 }')
    _run(graph, 'upsert Knows { from: "ada" to: "bob" since: date("2024-02-29") }')
    _run(graph, 'upsert Knows { from: "ada" to: "bob" kind: "boss" }')
    friend = {"from": "ada", "to": "bob", "kind": "friend", "since": "2024-02-29", "weight": 0.5}
    boss = {"from": "ada", "to": "bob", "kind": "boss", "since": None, "weight": None}
    assert _rows(graph, "Knows") == {'["ada","bob","friend"]': friend, '["ada","bob","boss"]': boss}


def test_rows_of_types_without_a_key_are_found_by_their_id(graph: og.Graph) -> None:
    _run(graph, 'upsert Log { id: $id text: "t" }', 'upsert Saw { id: "s" from: "ada" to: $id n: 1 }', id="l")
    _run(graph, "upsert Log { id: $id n: 4 }", 'upsert Saw { id: "s" from: "bob" to: $id }', id="l")
    assert _rows(graph, "Log") == {"l": {"text": "t", "n": 4}}
    assert _rows(graph, "Saw") == {"s": {"from": "bob", "to": "l", "n": 1}}


def test_a_key_of_several_members_and_only_a_key(graph: og.Graph) -> None:
    for _ in range(2):
        done = _run(graph, 'upsert Day { on: date("2024-01-02") seq: 7 }')
        assert done.commit_id is not None and done.affected_nodes == 1
    _run(graph, 'upsert Day { on: date("2024-01-02") seq: 7 word: "w" }')
    assert _rows(graph, "Day") == {'["19724","7"]': {"on": "2024-01-02", "seq": 7, "word": "w"}}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('upsert Person { name: "bob" mail: "a@b" }', "@unique violation on Person.mail"),
        ('upsert Knows { from: "ada" to: "nobody" }', "dst 'nobody' not found in Person"),
        ("upsert Log { id: $id n: 4 }", "parameter 'id' cannot be stored in Log.id"),
    ],
)
def test_the_rules_hold_for_the_whole_row(statement: str, message: str, graph: og.Graph) -> None:
    head = graph.snapshot().commit_id
    with pytest.raises(og.ValidationError) as told:
        _run(graph, statement, id=None)
    assert message in str(told.value)
    assert graph.snapshot().commit_id == head


def test_a_mutation_that_upserts_does_not_delete(graph: og.Graph) -> None:
    with pytest.raises(og.TypeCheckError, match="mixes delete"):
        _run(graph, 'upsert Person { name: "ada" age: 1 }', 'delete Person where name = "bob"')
