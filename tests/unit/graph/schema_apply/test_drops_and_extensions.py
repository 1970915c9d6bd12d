"""What `schema.apply` does with what a text leaves out, and with a text that adds to what is there."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema

SCHEMA = """
node Person { name: String @key  age: I32? }
node City { name: String @key }
edge Knows: Person -> Person { note: String? }
"""
PARTIAL = "node Person { name: String @key }\n"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load([{"type": "Person", "data": {"name": "ada", "age": 36}}], mode="append")
    return made


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (PARTIAL, ["node Person.age", "edge Knows", "node City"]),
        ("", ["edge Knows", "node City", "node Person"]),
        ("// nothing yet\n", ["edge Knows", "node City", "node Person"]),
    ],
)
def test_a_schema_that_leaves_something_out_is_refused_with_the_list(
    graph: og.Graph, text: str, names: list[str]
) -> None:
    before = graph.snapshot().commit_id
    with pytest.raises(og.SchemaWouldDrop) as caught:
        graph.schema.apply(text)
    assert caught.value.names == names
    assert caught.value.code == "schema_would_drop"
    assert all(name in caught.value.message for name in names)
    assert [step["kind"] for step in caught.value.drops][-1] == "drop_type"
    assert pickle.loads(pickle.dumps(caught.value)).names == names
    assert graph.snapshot().commit_id == before
    assert [step.kind for step in graph.schema.plan(text).drops] == [
        "drop_property" if "." in name else "drop_type" for name in names
    ]


@pytest.mark.parametrize(
    ("flags", "mode"),
    [({"allow_drop": True}, "soft"), ({"allow_data_loss": True}, "hard")],
)
def test_drops_that_are_allowed_are_soft_or_hard(graph: og.Graph, flags: dict[str, bool], mode: str) -> None:
    before = graph.snapshot()
    done = graph.schema.apply(PARTIAL, **flags)
    assert {step["mode"] for step in done.steps} == {mode}
    assert [table.key for table in graph.snapshot().tables] == ["node:Person"]
    old = og.open(graph.uri).snapshot(commit=before.commit_id)
    if mode == "soft":
        assert old.table("node:Person").scan()["age"].to_pylist() == [36]
    else:
        with pytest.raises(og.HistoricalVersionReclaimed):
            old.table("node:Person").scan()


def test_an_extension_adds_and_drops_nothing(graph: og.Graph) -> None:
    addition = "node Person { nickname: String? }\nnode Club { name: String @key }\nedge In: Person -> Club\n"
    assert [step.kind for step in graph.schema.plan(addition, mode="extend").steps] == [
        "add_type",
        "add_type",
        "add_property",
    ]
    done = graph.schema.apply(addition, mode="extend", message="clubs")
    assert done.applied
    graph.mutate('query q() { update Person set { nickname: "a" } where name = "ada" }')
    found = graph.query("query q() { match { $p: Person } return { $p.name, $p.age, $p.nickname } }")
    assert found.rows == [{"p.name": "ada", "p.age": 36, "p.nickname": "a"}]
    assert graph.schema.catalog.node("City") is not None
    assert not graph.schema.apply(addition, mode="extend").applied
    assert not graph.schema.apply(graph.schema.source).applied


def test_a_schema_that_was_built_in_code_can_be_extended(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", compile_schema(SCHEMA))
    assert graph.schema.apply("node Club { name: String @key }", mode="extend").applied
    assert "node Club" in graph.schema.source
    assert [table.key for table in graph.snapshot().tables] == [
        "edge:Knows",
        "node:City",
        "node:Club",
        "node:Person",
    ]


@pytest.mark.parametrize("as_text", [True, False])
def test_plan_and_apply_take_the_path_of_a_file(graph: og.Graph, tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "new.pg"
    path.write_text(SCHEMA + "node Club { name: String @key }\n")
    given = str(path) if as_text else path
    assert [step.kind for step in graph.schema.plan(given).steps] == ["add_type"]
    assert graph.schema.apply(given).applied
    assert graph.schema.source == path.read_text()
    path.write_text("node Club { nam }")
    with pytest.raises(og.ParseError, match=r"new\.pg"):
        graph.schema.apply(given)
    with pytest.raises(og.BadInput, match=r"other\.pg cannot be read"):
        graph.schema.plan(tmp_path / "other.pg")


def test_wrong_arguments_are_told(graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="mode is 'add': use one of replace, extend"):
        graph.schema.apply(SCHEMA, mode="add")
    with pytest.raises(og.BadInput, match="allow_drop is True or False"):
        graph.schema.apply(SCHEMA, allow_drop="yes")  # type: ignore[arg-type]
    with pytest.raises(og.BadInput, match=r"give a string or the path of a \.pg file"):
        graph.schema.plan(3)  # type: ignore[arg-type]
