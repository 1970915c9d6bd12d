"""Choosing a query of a text, and the rules that golden files do not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import BadInput, NotFound, TypeCheckError
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import ReadQuery, WriteQuery

FOLDER = Path(__file__).parents[3] / "golden" / "query"
CATALOG = compile_schema((FOLDER / "schema.pg").read_text())
ONE = "query one() { match { $c: City } return { $c.name } }\n"
TWO = 'query two() { delete City where name = "x" }\n'


def test_one_query_needs_no_name() -> None:
    assert compile_query(ONE, CATALOG).name == "one"


def test_several_queries_need_one() -> None:
    assert compile_query(ONE + TWO, CATALOG, "two").kind == "mutation"
    with pytest.raises(BadInput, match="name one of one, two"):
        compile_query(ONE + TWO, CATALOG)


def test_of_several_queries_with_one_name_the_first_wins() -> None:
    text = ONE + "query one() { match { $d: Doc } return { $d.title } }"
    query = compile_query(text, CATALOG)
    assert isinstance(query, ReadQuery) and query.columns[0].name == "c.name"


def test_an_absent_name_is_not_found_and_near_misses_are_named() -> None:
    with pytest.raises(NotFound, match="query 'ones' not found; did you mean 'one'"):
        compile_query(ONE, CATALOG, "ones")
    with pytest.raises(NotFound, match="holds no query"):
        compile_query("// nothing", CATALOG)


def test_another_faulty_query_does_not_stop_the_chosen_one() -> None:
    text = ONE + "query bad() { match { $x: Ghost } return { $x } }"
    assert compile_query(text, CATALOG, "one").name == "one"
    with pytest.raises(TypeCheckError):
        compile_query(text, CATALOG, "bad")


def test_a_query_must_be_of_the_kind_that_is_run() -> None:
    assert isinstance(compile_query(TWO, CATALOG, kind="mutation"), WriteQuery)
    with pytest.raises(TypeCheckError, match="is a mutation and cannot run as a read"):
        compile_query(TWO, CATALOG, kind="read")
    with pytest.raises(TypeCheckError, match="is a read query and cannot run as a mutation"):
        compile_query(ONE, CATALOG, kind="mutation")


def test_defaults_fill_what_an_insert_leaves_out() -> None:
    catalog = compile_schema(
        'node T { k: String @key  n: I32 @default(3)  d: Date @default("2024-01-01")'
        ' o: String? @default("x") }'
    )
    query = compile_query('query q() { insert T { k: "a" } }', catalog)
    assert isinstance(query, WriteQuery)
    values = {item.property.name: getattr(item.value, "value", None) for item in query.statements[0].values}  # type: ignore[union-attr]
    assert values == {"k": "a", "n": 3, "d": 19723, "o": "x"}


def test_in_mutations_a_bare_name_means_the_node_if_there_is_one() -> None:
    catalog = compile_schema("node Lane { n: String }\nedge Lane: Lane -> Lane")
    assert compile_query('query q() { insert Lane { n: "x" } }', catalog).writes[0].kind == "node"


def test_problems_come_in_the_order_of_the_text() -> None:
    with pytest.raises(TypeCheckError) as raised:
        compile_query(
            "query q() { match { $p: Person  $p.a = 1 } return { $p.b } order { $p.c } limit $d }", CATALOG
        )
    assert [item.column for item in raised.value.diagnostics] == sorted(
        item.column for item in raised.value.diagnostics
    )
    assert len(raised.value.diagnostics) == 4
