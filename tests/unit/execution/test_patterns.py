"""Regular expressions: what is refused, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

BAD = ["(", "a{2", "(?=a)", "(a)\\1", "[z-a]", "a{1001}", "((a{100}){100}){100}", "*"]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph without rows, so that nothing is ever compared with a pattern."""
    return og.init(tmp_path / "graph", "node P { name: String @key  tags: [String]? }")


@pytest.mark.parametrize("pattern", BAD)
def test_a_pattern_that_is_not_a_regular_expression_is_refused_before_anything_is_read(
    graph: og.Graph, pattern: str
) -> None:
    text = "query q($m: String) { match { $p: P  any($t in $p.tags where matches($t, $m)) } return { $p } }"
    if pattern == "a{2":
        assert graph.query(text, {"m": pattern}).rows == []  # RE2 takes it for the text itself
        return
    with pytest.raises(og.BadInput, match="is not a regular expression") as raised:
        graph.query(text, {"m": pattern})
    assert raised.value.details["pattern"] == pattern


def test_a_literal_pattern_is_refused_too(graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="is not a regular expression"):
        graph.query('query q() { match { $p: P  not matches($p.name, "(") } return { $p } }')
    with pytest.raises(og.BadInput, match="is not a regular expression"):
        graph.query(
            'query q() { match { $p: P } return { count(*) as n } having { matches(to_string(n), "[") } }'
        )


def test_a_pattern_that_others_take_exponential_time_for_is_quick(graph: og.Graph) -> None:
    graph.load([{"type": "P", "data": {"name": "a" * 5000 + "b"}}], mode="append")
    found = graph.query(
        'query q() { match { $p: P } return { matches($p.name, "^(a+)+$") as m } }', timeout=5
    )
    assert found.rows == [{"m": False}]
