"""Constraints that could lock a type are refused before a graph has them, with the place in the text."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import BadInput, ParseError
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.schema_apply.check_satisfiable import check_usable

PLAIN = "node Z { n: String }"
UNUSABLE = ["(", "(?=a)", "(?<!a)b", r"(a)\\1", "a**", "[z-a]", "a{2000}", "*"]
USABLE = ["", "^[A-Z]{2}-[0-9]+$", r"\\d+\\pL", "(?i)x", "[[:alpha:]]", "a|b", "(?P<n>a)", "é"]


def _with(pattern: str) -> str:
    return f'// a comment\nnode Z {{\n  n: String\n  @check(n, "{pattern}")\n}}'


@pytest.mark.parametrize("pattern", UNUSABLE)
def test_a_pattern_that_the_engine_refuses_is_refused_where_it_stands(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ParseError) as caught:
        og.init(tmp_path / "new", _with(pattern))
    problem = caught.value.diagnostics[0]
    assert (problem.code, problem.line, problem.column) == ("S509", 4, 13)
    assert not (tmp_path / "new" / "__manifest").exists()


def test_plan_and_apply_refuse_it_too_and_the_graph_goes_on(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", PLAIN)
    before = graph.snapshot().commit_id
    for change in (graph.schema.plan, graph.schema.apply):
        with pytest.raises(ParseError, match="line 4, column 13"):
            change(_with("("))
    assert graph.snapshot().commit_id == before
    graph.load([{"type": "Z", "data": {"n": "1"}}], mode="append")


@pytest.mark.parametrize("pattern", USABLE)
def test_a_pattern_that_the_engine_knows_is_taken(tmp_path: Path, pattern: str) -> None:
    graph = og.init(tmp_path / "graph", PLAIN)
    assert graph.schema.apply(_with(pattern)).applied


def test_a_schema_file_is_named_and_a_catalog_is_checked_as_well(tmp_path: Path) -> None:
    file = tmp_path / "z.pg"
    file.write_text(_with("("))
    with pytest.raises(ParseError, match=r"z\.pg"):
        og.init(tmp_path / "a", file)
    with pytest.raises(BadInput, match=r"Z\.n"):
        og.init(tmp_path / "b", compile_schema(_with("(")))


def test_a_default_that_breaks_the_check_of_its_property_is_refused(tmp_path: Path) -> None:
    text = 'node Z {\n  n: String @default("x")\n  @check(n, "^[0-9]+$")\n}'
    with pytest.raises(ParseError, match="does not match its @check") as caught:
        og.init(tmp_path / "graph", text)
    assert caught.value.diagnostics[0].code == "S408"
    og.init(tmp_path / "graph", text.replace('"x"', '"7"'))


@pytest.mark.parametrize(
    ("declared", "rule"),
    [
        ("I32", "5..1"),
        ("F64?", "0.5..0.4"),
        ("U32", "-5..-1"),
        ("I32", "3000000000.."),
        ("I64", "0.2..0.8"),
        ("I32", "0..1) @range(n, 2..3"),
    ],
)
def test_bounds_that_no_value_satisfies_are_refused(declared: str, rule: str) -> None:
    text = f"node A {{ n: {declared} @range(n, {rule}) }}"
    with pytest.raises(ParseError) as caught:
        check_usable(compile_schema(text), text)
    assert caught.value.diagnostics[0].code == "S508"
    assert caught.value.diagnostics[0].column > text.index("@range")


@pytest.mark.parametrize(
    ("declared", "rule", "value"),
    [
        ("I32", "1..1", 1),
        ("F32", "0.2..0.8", 0.5),
        ("I64", "0.2..1", 1),
        ("U64", "-1..0", 0),
        ("I32", "0..5) @range(n, 5..9", 5),
    ],
)
def test_bounds_that_leave_a_value_are_taken_and_so_is_the_value(
    tmp_path: Path, declared: str, rule: str, value: float
) -> None:
    graph = og.init(tmp_path / "new", f"node A {{ n: {declared} @range(n, {rule}) }}")
    graph.load([{"type": "A", "data": {"n": value}}], mode="append")
    assert graph.snapshot().table("node:A").scan(["n"])["n"].to_pylist() == [value]
