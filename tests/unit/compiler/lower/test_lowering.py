"""Lowering: rankings, tie-breaks, columns and tables become explicit."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.pattern import Filter, Traverse
from omnigraph.compiler.ir.queries import Output, ReadQuery, TouchedTable, WriteQuery
from omnigraph.compiler.ir.values import EntityId, TextScore, VectorDistance

FOLDER = Path(__file__).parents[3] / "golden" / "query"
CATALOG = compile_schema((FOLDER / "schema.pg").read_text())


def read(text: str) -> ReadQuery:
    query = compile_query(f"query q() {{ {text} }}", CATALOG)
    assert isinstance(query, ReadQuery)
    return query


def write(text: str) -> WriteQuery:
    query = compile_query(f"query q() {{ {text} }}", CATALOG)
    assert isinstance(query, WriteQuery)
    return query


def test_ties_are_broken_by_the_ids_of_named_variables_in_alphabetical_order() -> None:
    query = read(
        "match { $z: Person  $z $m:knows $a  $a livesIn $_  not { $z wrote $d } }"
        " return { $z } order { $a.age }"
    )
    names = [
        query.variables[key.value.variable].name for key in query.ties if isinstance(key.value, EntityId)
    ]
    assert names == ["a", "m", "z"]


def test_without_an_order_there_are_no_ties_to_break() -> None:
    assert read("match { $p: Person } return { $p } limit 3").ties == ()


def test_groups_are_tied_by_their_keys() -> None:
    query = read("match { $p: Person } return { $p.tier, count($p) as n, $p.age } order { n }")
    assert [key.value for key in query.ties] == [Output(0), Output(2)]


def test_a_ranked_variable_with_a_binding_is_cut_before_the_rest() -> None:
    query = read('match { $d: Doc  $p wrote $d } return { $d.title } order { nearest($d.vec, "x") } limit 3')
    assert query.ranking is not None and query.ranking.candidates == 0
    assert isinstance(query.ranking.score, VectorDistance)


def test_a_variable_reached_by_a_traversal_is_ranked_among_the_matches() -> None:
    query = read('match { $p: Person  $p wrote $d } return { $d.title } order { bm25($d.body, "x") asc }')
    assert query.ranking is not None and query.ranking.candidates is None
    assert isinstance(query.ranking.score, TextScore)
    assert query.order[0].descending


def test_a_query_that_differs_per_row_cannot_be_cut_first() -> None:
    query = read("match { $a: Person  $b: Person } return { $a } order { nearest($a.face, $b.face) } limit 3")
    assert query.ranking is not None and query.ranking.candidates is None


def test_a_score_that_comes_second_is_no_ranking() -> None:
    query = read('match { $d: Doc } return { $d.title } order { $d.title, bm25($d.body, "x") } limit 3')
    assert query.ranking is None


def test_edges_between_different_types_do_not_chain() -> None:
    steps = read(
        "match { $p: Person  $p livesIn{1,5} $c  not { $p wrote{2,5} $d } } return { $c }"
    ).match.steps
    hops = [step for step in steps if isinstance(step, Traverse)]
    assert (hops[0].low, hops[0].high) == (1, 1)


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("$p.age > 3 and $c.size > 5", "$p.age > 3  $c.size > 5"),
        ("($p.age > 3 and $c.size > 5) and $p.age < 9", "$p.age > 3  $c.size > 5  $p.age < 9"),
        (
            "not ($p.age > 3 or $c.size > 5 and $p.age < 9)",
            "not $p.age > 3  not ($c.size > 5 and $p.age < 9)",
        ),
        ("not (not ($p.age > 3 and $c.size > 5))", "$p.age > 3  $c.size > 5"),
    ],
)
@pytest.mark.parametrize("block", ["%s", "not { $p knows $q  %s }", "optional { $p knows $q  %s }"])
def test_what_a_clause_joins_is_as_many_filters(one: str, several: str, block: str) -> None:
    asked = [
        read(f"match {{ $p: Person  $p livesIn $c  {block % text} }} return {{ $p }}")
        for text in (one, several)
    ]
    assert asked[0] == asked[1]


def test_a_choice_between_conditions_stays_one_filter() -> None:
    steps = read(
        "match { $p: Person  not ($p.age > 3 and $p.age < 9)  $p.age = 5 or $p.age = 6 } return { $p }"
    ).match.steps
    assert sum(isinstance(step, Filter) for step in steps) == 2


def test_columns_have_names_types_and_nullability() -> None:
    query = read(
        "match { $p: Person  optional { $p livesIn $c }  $p knows{1,2} $q as $n }"
        ' return { $p, $p.age, $c.name, $n, 3, search($p.bio, "x"), $p.tier as tier }'
    )
    shown = [(item.name, str(item.type)) for item in query.columns]
    assert shown == [
        ("p", "String"),
        ("p.age", "I32?"),
        ("c.name", "String?"),
        ("n", "I64"),
        ("literal", "I64"),
        ("search", "Bool?"),
        ("tier", "enum(basic, gold)"),
    ]


def test_what_is_read_includes_inner_blocks_and_both_ends_of_edges() -> None:
    query = read("match { $p: Person  not { $p wrote $d }  optional { $p livesIn $c } } return { $p }")
    assert query.reads == (
        TouchedTable("node", "City"),
        TouchedTable("node", "Doc"),
        TouchedTable("node", "Person"),
        TouchedTable("edge", "LivesIn"),
        TouchedTable("edge", "Wrote"),
    )


def test_a_node_delete_writes_the_edges_that_it_cascades_to() -> None:
    query = write('delete City where name = "x"')
    assert query.writes == query.reads == (TouchedTable("node", "City"), TouchedTable("edge", "LivesIn"))


def test_an_edge_insert_reads_the_tables_of_its_ends() -> None:
    query = write('insert LivesIn { from: "a", to: "b" }')
    assert query.reads == (
        TouchedTable("node", "City"),
        TouchedTable("node", "Person"),
        TouchedTable("edge", "LivesIn"),
    )
    assert query.writes == (TouchedTable("edge", "LivesIn"),)
