"""Parsing: limits, positions, recovery."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from omnigraph.base.errors import OmniError, ParseError, ResourceLimit
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.expectation import BASE_TYPES
from omnigraph.compiler.schema.parser import parse_schema
from omnigraph.compiler.schema.problems import MAX_FOUND_PROBLEMS, MAX_SHOWN_PROBLEMS
from omnigraph.compiler.types import Scalar

MUCH = 200_000


def _codes(text: str) -> list[str]:
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    return [problem.code for problem in caught.value.diagnostics]


def test_nodes_of_the_tree_know_their_place() -> None:
    text = "// first\nnode Film {\n  year: I32? @index\n}\n"
    node = parse_schema(text).declarations[0]
    assert isinstance(node, ast.Node)
    member = node.members[0]
    assert text[node.span.start : node.span.end].startswith("node Film {")
    assert text[member.span.start : member.span.end] == "year: I32? @index"
    assert isinstance(member, ast.PropertyDeclaration)
    assert text[member.type.span.start : member.type.span.end] == "I32?"


def test_trees_are_equal_wherever_their_text_stands() -> None:
    assert parse_schema("node A{x:I32}") == parse_schema("node A {\n\n\n  x : I32 }")
    assert parse_schema("node A { x: I32 @d(1) }") != parse_schema("node A { x: I32 @d(1.0) }")
    assert parse_schema("node A { x: I32 @d(1) }") != parse_schema("node A { x: I32 @d(true) }")


def test_white_space_and_comments_may_stand_between_any_two_tokens() -> None:
    text = "node A{a:I32 @key @unique(a)}edge E:A->A@card(0..1){@unique(src,dst)}"
    gap = " /* x */ // y\n\t"
    tokens = (
        "node A { a : I32 @ key @ unique ( a ) } edge E : A -> A @ card ( 0 .. 1 ) { @ unique ( src , dst ) }"
    )
    assert compile_schema(tokens.replace(" ", gap)) == compile_schema(text)


def test_a_syntax_error_names_file_line_and_column() -> None:
    with pytest.raises(ParseError) as caught:
        compile_schema("node A {\n  x: Strin\n}", "film.pg")
    (problem,) = caught.value.diagnostics
    assert (problem.line, problem.column, problem.width) == (2, 6, 5)
    assert problem.hint == "did you mean 'String'?"
    assert caught.value.message.startswith("film.pg:2:6: [S101] syntax error: expected a type")


def test_problems_behind_a_syntax_error_are_still_found() -> None:
    assert _codes("node A { x: Int }\nnode B { y: String? @key }\nnode C { z: [Blob] }") == [
        "S101",
        "S502",
        "S302",
    ]


def test_what_a_broken_part_may_have_declared_is_not_called_unknown() -> None:
    assert _codes("node A { x: Int  @key(x) }\nnode b { }\nedge E: A -> B") == ["S101", "S101"]


def test_the_list_of_problems_is_cut_and_says_how_many_are_missing() -> None:
    text = "node A { " + "x: I32 " * 201 + "}"
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    assert len(caught.value.diagnostics) == MAX_SHOWN_PROBLEMS + 1
    assert caught.value.diagnostics[-1].code == Code.MORE
    assert "and 100 more problems" in caught.value.message


def test_counting_problems_stops_at_a_limit() -> None:
    text = "\n".join(f"node A{number} {{ x: Int }}" for number in range(MAX_FOUND_PROBLEMS + 100))
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    assert f"at least {MAX_FOUND_PROBLEMS - MAX_SHOWN_PROBLEMS} more problems" in caught.value.message


def test_long_names_do_not_blow_up_the_messages() -> None:
    members = " ".join(f"x{number}: [Blob] @key" for number in range(200))
    with pytest.raises(ParseError) as caught:
        compile_schema(f"node {'A' * MUCH} {{ {members} }}")
    assert len(caught.value.message) < MUCH


def test_hints_know_every_base_type() -> None:
    assert set(BASE_TYPES) == {scalar.value for scalar in Scalar}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (f"node A {{ v: Vector({'9' * 40}) }}", "[S301] Vector dimension is far too large"),
        ("node A { x: I32 @foo() }", "hint: a value is missing before ')'"),
        ("node A { x: I32 @range(x, ..) }", "hint: bounds look like 0..10"),
        ("node A {} edge E: A -> A @card(..1)", "hint: write bounds as 1.. or 0..1"),
    ],
)
def test_one_mistake_is_one_message_with_a_fitting_hint(text: str, part: str) -> None:
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    assert len(caught.value.diagnostics) == 1
    assert part in caught.value.message


def test_an_edge_end_is_not_suggested_where_it_cannot_stand() -> None:
    with pytest.raises(ParseError) as caught:
        compile_schema("node A {} edge E: A -> A { x: I32 @index(src) }")
    assert [problem.hint for problem in caught.value.diagnostics] == [None]


def test_half_of_a_surrogate_pair_is_refused() -> None:
    assert _codes('node A @d("\ud800") { x: I32 }') == ["S104"]


def test_a_text_above_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ResourceLimit) as caught:
        compile_schema("x" * 10_000_000)
    assert caught.value.actual == 10_000_000
    with pytest.raises(ResourceLimit):
        parse_schema("node A {}", max_characters=5)


HOSTILE = {
    "braces": "{" * MUCH,
    "open declarations": "node A {" * (MUCH // 8),
    "open comments": "/*" * (MUCH // 2),
    "open strings": '"\\' * (MUCH // 2),
    "at signs": "@" * MUCH,
    "at signs and comments": "@ /**/" * (MUCH // 6),
    "wrong members": "node A { " + "x: Int\n" * (MUCH // 7) + "}",
    "repeated members": "node A { " + "x: I32\n" * (MUCH // 14) + "}",
    "unknown interfaces": "node A implements "
    + ", ".join(f"I{number}" for number in range(MUCH // 20))
    + " {}",
    "bad escapes": 'node A { x: I32 @a("' + "\\q" * (MUCH // 2) + '") }',
    "a huge integer": "node A { x: I32 @a(" + "9" * MUCH + ") }",
    "a huge fraction": "node A { x: I32 @a(" + "9" * MUCH + ".5) }",
    "a huge vector": "node A { x: Vector(" + "9" * MUCH + ") }",
    "zero bytes": "\0" * MUCH,
    "deep lists": "node A { x: " + "[" * MUCH + " }",
    "deep parentheses": "node A { x: I32 @a" + "(" * MUCH + " }",
    "keywords": "node " * (MUCH // 5),
    "unknown embeds": "node A { "
    + " ".join(f"x{n}: Vector(1) @embed(y{n})" for n in range(MUCH // 50))
    + " }",
    "repeated nodes and an open one": "node A { x: I32 } " * (MUCH // 18 - 1) + "node A {",
    "large interfaces with many heirs": "interface I { "
    + " ".join(f"p{n}: I32" for n in range(MUCH // 24))
    + " } "
    + " ".join(f"node A{n} implements I {{}}" for n in range(MUCH // 60)),
    "unknown ends": "node A {} " + " ".join(f"edge E{n}: B{n} -> A" for n in range(MUCH // 40)),
}


@pytest.mark.long
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused_in_bounded_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(OmniError):
        compile_schema(text)
    assert time.process_time() - started < 20


def test_every_code_is_explained_in_the_documentation() -> None:
    page = Path(__file__).parents[4] / "docs" / "schema-language.md"
    text = page.read_text(encoding="utf-8")
    assert [code for code in Code if f"| {code} |" not in text] == []
