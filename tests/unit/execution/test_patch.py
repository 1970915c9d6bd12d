"""`load(mode="patch")` sets what records give in the rows that they name, and adds rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from support.workers import Workers

PARKED = "publish.before_record"
SCHEMA = """
node Person {
  name: String @key  n: I64 @default(3)  age: I32?  mail: String? @unique  need: String
  photo: Blob?  tags: [String]?  born: Date?
}
node Log { text: String  n: I64? }
edge Knows: Person -> Person { weight: F64?  word: String?  @key(src, dst) }
"""
ADA = {
    "name": "ada", "n": 5, "age": 40, "mail": "a", "need": "x", "photo": "base64:aGk=", "tags": ["q"],
    "born": "2020-01-01",
}  # fmt: skip


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with two people, a log and an edge."""
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(
        [
            {"type": "Person", "data": ADA},
            {"type": "Person", "data": {"name": "bob", "need": "y"}},
            {"type": "Log", "data": {"id": "l1", "text": "t"}},
            {"edge": "Knows", "from": "ada", "to": "bob", "data": {"weight": 1.5, "word": "k"}},
        ],
        mode="append",
    )
    return made


def _rows(graph: og.Graph, name: str) -> dict[str, Any]:
    records = [item for item in graph.export() if name in (item.get("type"), item.get("edge"))]
    return {item["data"]["id"]: {k: v for k, v in item["data"].items() if k != "id"} for item in records}


def test_only_what_is_given_is_touched_and_null_is_given(graph: og.Graph) -> None:
    done = graph.load(
        [
            {"type": "Person", "data": {"name": "ada", "age": None, "n": 6}},
            {"type": "Person", "data": {"id": "bob", "born": "2024-02-29"}},
            {"type": "Log", "data": {"id": "l1", "n": 7}},
            {"edge": "Knows", "from": "ada", "to": "bob", "data": {"weight": 2}},
        ],
        mode="patch",
    )
    assert (done.nodes, done.edges) == ({"Person": 2, "Log": 1}, {"Knows": 1})
    people = _rows(graph, "Person")
    assert people["ada"] == {**ADA, "age": None, "n": 6}
    assert (people["bob"]["need"], people["bob"]["born"]) == ("y", "2024-02-29")
    assert _rows(graph, "Log") == {"l1": {"text": "t", "n": 7}}
    assert list(_rows(graph, "Knows").values()) == [{"weight": 2.0, "word": "k"}]


def test_a_row_that_is_not_there_is_added_with_its_defaults(graph: og.Graph) -> None:
    graph.load(
        [
            {"type": "Person", "data": {"name": "new", "need": "z"}},
            {"type": "Log", "data": {"text": "second"}},
            {"edge": "Knows", "from": "bob", "to": "new"},
        ],
        mode="patch",
    )
    assert _rows(graph, "Person")["new"]["n"] == 3
    assert len(_rows(graph, "Log")) == 2 and len(_rows(graph, "Knows")) == 2


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"name": "new"}], r"missing required property Person\.need: no Person has the id 'new'"),
        ([{"age": 1}], r"Person\.name is required"),
        ([{"id": "nobody", "need": "x"}], r"missing required property Person\.name"),
        ([{"name": "ada", "need": None}], r"Person\.need is required"),
        ([{"name": "bob", "mail": "a"}], "@unique violation"),
        ([{"name": "ada", "age": 1}, {"id": "ada", "n": 1}], "'ada' occurs twice"),
        ([{"name": "ada", "id": "bob"}], "its key says 'ada'"),
        ([{"name": "ada", "agee": 1}], "has no property 'agee'"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(
    records: list[dict[str, Any]], message: str, graph: og.Graph
) -> None:
    head = graph.snapshot().commit_id
    with pytest.raises(og.OmniError, match=message):
        graph.load([{"type": "Person", "data": data} for data in records], mode="patch")
    assert graph.snapshot().commit_id == head


def test_a_column_that_is_absent_is_not_touched(graph: og.Graph, tmp_path: Path) -> None:
    graph.load(pa.table({"name": ["ada", "bob"], "age": [7, None]}), type="Person", mode="patch")
    file = tmp_path / "people.csv"
    file.write_text("name,mail,n\nada,,8\nbob,m,\n")
    with pytest.raises(og.ValidationError, match=r"Person\.n is required"):
        graph.load(file, type="Person", mode="patch")
    file.write_text("name,mail,n\nada,,8\nbob,m,9\n")
    graph.load(file, type="Person", mode="patch")
    people = _rows(graph, "Person")
    assert people["ada"] == {**ADA, "age": 7, "mail": None, "n": 8}
    assert (people["bob"]["mail"], people["bob"]["need"], people["bob"]["n"]) == ("m", "y", 9)


def test_quarantine_takes_the_patches_that_are_wrong(graph: og.Graph, tmp_path: Path) -> None:
    records = [{"name": "new"}, {"name": "ada", "n": 9}, {"name": "bob", "age": "old"}]
    done = graph.load(
        [{"type": "Person", "data": data} for data in records],
        mode="patch",
        on_error="quarantine",
        rejected_to=tmp_path / "rejected",
    )
    assert (done.rejected, done.nodes) == (2, {"Person": 1})
    assert _rows(graph, "Person")["ada"] == {**ADA, "n": 9}


def test_patches_of_many_rows_are_completed_in_parts(graph: og.Graph) -> None:
    count = 9_000
    rows = {"name": [f"p{n}" for n in range(count)], "need": ["x"] * count, "n": list(range(count))}
    graph.load(pa.table(rows), type="Person", mode="append")
    graph.load(pa.table({"name": rows["name"], "age": [5] * count}), type="Person", mode="patch")
    found = graph.query(
        "query q() { match { $p: Person { age: 5 } } return { count($p) as many, sum($p.n) as sum } }"
    )
    assert found.rows == [{"many": count, "sum": count * (count - 1) / 2}]


def test_a_patch_that_is_overtaken_keeps_what_the_other_writer_did(graph: og.Graph, workers: Workers) -> None:
    slow = workers.take()
    records = [{"type": "Person", "data": {"name": "ada", "age": 41}}]
    env = {"OMNIGRAPH_TURN_SECONDS": "0.02"}
    slow.tell("load", graph.uri, records, "patch", failpoints=f"{PARKED}=park@1", env=env)
    slow.wait_parked(PARKED)
    graph.mutate('query q() { update Person set { n: 77 } where name = "ada" }')
    slow.release(PARKED)
    slow.answer()
    assert _rows(graph, "Person")["ada"] == {**ADA, "age": 41, "n": 77}


def test_a_patch_of_an_embedded_text_says_that_its_vector_is_gone(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "notes", "node Note { k: String @key  t: String?  v: Vector(2)? @embed(t) }")

    def patch(**data: Any) -> og.Load:
        return graph.load([{"type": "Note", "data": {"k": "a", **data}}], mode="patch")

    assert patch(t="one", v=[1.0, 2.0]).warnings == ()
    assert patch(t="one").warnings == (), "the vector stands for this text"
    read = "query q() { match { $n: Note } return { $n.v } }"
    assert graph.query(read).scalar() == [1.0, 2.0]
    [said] = patch(t="two").warnings
    assert said.startswith("Note.v is NULL now where Note.t was changed, since no embedding provider")
    assert graph.query(read).scalar() is None
    assert patch(t="three").warnings == (), "there was none to lose"
