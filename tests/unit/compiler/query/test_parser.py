"""Parsing: all problems at once, words as names, and limits on hostile text."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from omnigraph.base.errors import ParseError, ResourceLimit
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parser import MAX_PROBLEMS, parse, parse_all
from omnigraph.compiler.query.tokens import KEYWORDS, MAX_NESTING_DEPTH, MAX_QUERY_CHARACTERS
from omnigraph.compiler.source import Span


def read(match: str = "$x: T", rest: str = "return { $x }") -> ast.Read:
    body = parse(f"query q() {{ match {{ {match} }} {rest} }}").queries[0].body
    assert isinstance(body, ast.Read)
    return body


def condition(text: str) -> Any:
    clause = read(text).match.clauses[0]
    assert isinstance(clause, ast.FilterClause)
    return clause.condition


def problems(text: str) -> list[str]:
    return [item.message for item in parse_all(text)[1]]


def test_every_problem_of_a_file_is_reported_with_its_place() -> None:
    text = (
        "query a() { match { } return { 1 } }\nquery b( { }\nquery ok() { match { $x: T } return { $x } }\n$"
    )
    file, found = parse_all(text)
    assert [(item.line, item.column, item.code) for item in found] == [
        (1, 21, "parse_error"),
        (2, 10, "parse_error"),
        (4, 1, "parse_error"),
    ]
    assert [query.name.text for query in file.queries] == []


def test_a_correct_query_between_faulty_ones_is_kept() -> None:
    file, found = parse_all("query a() { }\nquery ok() { match { $x: T } return { $x } }\nquery b() { }")
    assert [query.name.text for query in file.queries] == ["ok"]
    assert len(found) == 2


def test_a_missing_brace_does_not_hide_the_next_query() -> None:
    text = "query a() { match { $x: T return { $x } }\nquery b() { match { $x: T } retrun { $x } }"
    found = parse_all(text)[1]
    assert [item.line for item in found] == [1, 2]
    assert found[1].hint == "did you mean 'return'?"


def test_several_lines_of_one_query_may_be_wrong() -> None:
    lines = [
        "query q($n: I64) {",
        "  match {",
        "    $x: T",
        "    $x.a == 1",
        "    $x knows $y",
        "    $y.b = 'text'",
        '    $y.c = "a\\q"',
        "  }",
        "  return { $x.a, $y.b }",
        "  limti 5",
        "  skip 3",
        "}",
    ]
    found = parse_all("\n".join(lines))[1]
    assert [(item.line, item.hint) for item in found] == [
        (4, "write ="),
        (6, "write strings in double quotes"),
        (7, 'the escapes are \\" \\\\ \\n \\r \\t'),
        (10, "did you mean 'limit'?"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "query q() {\n match {\n  $x.a ==\n }\n return { 1 }\n}",
        "query q() {\n match {\n  $x: T\n  $x.a =\n  # 5\n  $x knows $y\n }\n return { 1 }\n}",
        "query q() {\n match { $x: T }\n retrun { $x }\n limit 5\n}",
        "query q() {\n match {\n  $x: T$y\n  $x knows $z\n  $x.a > 5\n }\n return { $x }\n}",
        "query q() {\n match { $x: T }\n return {\n  $x.a}\n  $x.b\n }\n order { $x.a }\n}",
    ],
)
def test_a_mistake_is_not_told_twice_for_what_it_leaves_behind(text: str) -> None:
    assert len(parse_all(text)[1]) == 1


def test_a_repeated_annotation_is_underlined_where_it_is_repeated() -> None:
    text = 'query q() @description("a") @description("b") { match { $x: T } return { $x } }'
    (problem,) = parse_all(text)[1]
    assert (problem.column, problem.width) == (29, len("@description"))


def test_a_missing_bracket_spoils_none_of_the_queries_behind_it() -> None:
    good = "query {0}() {{ match {{ $x: T }} return {{ $x }} }}"
    file, found = parse_all("query a( { }\n" + "\n".join(good.format(name) for name in "bcd"))
    assert [item.line for item in found] == [1]
    assert [query.name.text for query in file.queries] == ["b", "c", "d"]


@pytest.mark.parametrize("text", ['query q() { match { $x: T { p: "\ud800" } } return { 1 } }', "// \udfff"])
def test_half_of_a_surrogate_pair_is_refused_in_strings_and_comments(text: str) -> None:
    assert ["half of a surrogate pair" in item.message for item in parse_all(text)[1]] == [True]


def test_the_number_of_reported_problems_is_bounded() -> None:
    assert len(parse_all("query a() { }\n" * 5000)[1]) == MAX_PROBLEMS


def test_an_error_shows_the_line_and_a_caret() -> None:
    with pytest.raises(ParseError) as raised:
        parse("query q() {\n  match { $x T }\n  return { $x } }")
    assert "line 2, column 14" in str(raised.value)
    assert "\n    match { $x T }\n               ^" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('query q() { match { $x: T { p: "a\\d" } } return { $x } }', "unsupported escape sequence"),
        ("query q() { match { $x: T } return { 9223372036854775808 } }", "exceeds the range of I64"),
        (f"query q() {{ match {{ $x: T }} return {{ {'9' * 5000} }} }}", "exceeds the range of I64"),
        (f"query q() {{ match {{ $x: T }} return {{ {'9' * 400}.0 }} }}", "too large for F64"),
        ('query q() { match { $x: T { p: "open } } return { $x } }', "not closed"),
        ("query q() { /* open", "not closed"),
        ("query q() { match { $x: T } return { $x } } \x00", "unexpected character"),
        ("query q($a: Strng) { match { $x: T } return { $x } }", "unknown parameter type Strng"),
        ("query q($a: Vector) { match { $x: T } return { $x } }", "unknown parameter type Vector"),
        ("query q($a: I32, $a: I32) { match { $x: T } return { $x } }", "duplicate parameter"),
        ('query q() @description("a") @description("b") { match { $x: T } return { $x } }', "duplicate"),
        ('query q() @descripton("a") { match { $x: T } return { $x } }', "expected @description"),
        ("query q() { match { $x: T } return { $x } limit 1 limit 2 }", "duplicate limit"),
        ("query q() { match { $x: T } return { $x } order { nearest($x.v, 3) asc } }", "unexpected 'asc'"),
        ("query q() { match { $x not $y } return { $x } }", "unexpected"),
        ("query q() { match { $x: T } return { sum(distinct $x.a) } }", "does not take distinct"),
        ("match { $x: T } return { $x }", "expected 'query'"),
        ("query q() { match { $x: T } return { $x }", "the end of the query"),
    ],
)
def test_faulty_text_is_refused_with_a_reason(text: str, part: str) -> None:
    assert any(part in message for message in problems(text)), problems(text)


def test_the_smallest_integer_can_be_written() -> None:
    literal = read(rest="return { -9223372036854775808 }").returns.items[0].expression
    assert isinstance(literal, ast.IntLiteral) and literal.value == -(2**63)


def test_strings_may_hold_new_lines_and_the_five_escapes() -> None:
    literal = read(rest='return { "a\n\\"\\\\\\n\\r\\t" }').returns.items[0].expression
    assert isinstance(literal, ast.StringLiteral) and literal.value == 'a\n"\\\n\r\t'


@pytest.mark.parametrize("word", sorted(KEYWORDS - {"not"}))
def test_every_word_but_not_can_name_an_edge(word: str) -> None:
    for text in (f"$a {word} $b", f"$a {word}{{1,2}} $b", f"$a <{word}> $b", f"$a $e:{word} $b"):
        clause = read(text).match.clauses[0]
        assert isinstance(clause, ast.Traversal) and clause.edge.text == word


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_word_can_name_a_property_an_alias_a_query_and_a_variable(word: str) -> None:
    text = (
        f"query {word}(${word}: I32) {{ match {{ $x: T {{ {word}: 1 }} }} return {{ $x.{word} as {word} }} }}"
    )
    query = parse(text).queries[0]
    assert query.name.text == query.parameters[0].name == word
    update = parse(f"query q() {{ update T set {{ {word}: 1 }} where {word} = 2 }}").queries[0].body
    assert isinstance(update, ast.Write)


@pytest.mark.parametrize("word", sorted(KEYWORDS - {"true", "false"}))
def test_every_word_but_the_truth_values_can_be_ordered_by(word: str) -> None:
    order = read(rest=f"return {{ $x.a as {word} }} order {{ {word} desc, {word} }}").order
    assert order is not None
    assert [type(item.expression) for item in order.items] == [ast.AliasReference, ast.AliasReference]


@pytest.mark.parametrize("word", ["contains", "starts_with", "in", "is"])
def test_two_bare_variables_around_an_operator_word_are_a_traversal(word: str) -> None:
    assert isinstance(read(f"$a {word} $b").match.clauses[0], ast.Traversal)
    assert isinstance(read(f"$a {word} $b $b.x = 1").match.clauses[1], ast.FilterClause)


def test_parentheses_make_a_filter_of_it() -> None:
    assert condition("($a contains $b)").operator is ast.Operator.CONTAINS
    assert condition("not $a in $b").term.operator is ast.Operator.IN
    assert condition("$a.x = 1 and $b in $c").terms[1].operator is ast.Operator.IN


def test_a_bare_variable_compares_where_no_traversal_can_be_meant() -> None:
    assert condition('$a contains "x"').operator is ast.Operator.CONTAINS
    assert condition("$a in [1]").operator is ast.Operator.IN
    assert condition("$a contains $b.c").operator is ast.Operator.CONTAINS
    assert condition("$a < $b").operator is ast.Operator.LT
    assert isinstance(condition("$a is not null"), ast.NullTest)


def test_and_binds_tighter_than_or_and_not_tightest() -> None:
    found = condition("$a.x = 1 or not $a.y = 2 and $a.z = 3")
    assert isinstance(found, ast.OrCondition)
    assert isinstance(found.terms[1], ast.AndCondition)
    assert isinstance(found.terms[1].terms[0], ast.NotCondition)


def test_a_block_is_not_a_condition() -> None:
    clauses = read("$x: T not { $x e $y } optional { $x f $z } not ($x.a = 1)").match.clauses
    assert [type(item) for item in clauses] == [
        ast.Binding,
        ast.Negation,
        ast.OptionalBlock,
        ast.FilterClause,
    ]


def test_skip_and_limit_come_in_either_order_and_take_parameters() -> None:
    for rest in ("skip 1 limit $n", "limit $n skip 1"):
        found = read(rest=f"return {{ $x }} {rest}")
        assert isinstance(found.skip, ast.IntLiteral) and isinstance(found.limit, ast.VariableReference)


def test_keywords_need_a_word_boundary() -> None:
    assert problems("query q() { match { $x: T } return { $x } limit5 }")
    assert isinstance(read(rest="return { $x.a as trueish } order { trueish }").order, ast.OrderClause)


def test_spans_cover_what_was_written() -> None:
    text = 'query q() { match { $x: T { p: "v" } $x e{1,2} $y } return { $x.p as z } }'
    query = parse(text).queries[0]
    assert text[query.span.start : query.span.end] == text
    assert isinstance(query.body, ast.Read)
    parts = [text[item.span.start : item.span.end] for item in query.body.match.clauses]
    assert parts == ['$x: T { p: "v" }', "$x e{1,2} $y"]
    assert all(isinstance(span, Span) for span in _spans(query))


def _spans(node: Any) -> list[Any]:
    found = []
    for item in fields(node) if is_dataclass(node) and not isinstance(node, Span) else ():
        value = getattr(node, item.name)
        found += [value] if item.name == "span" else _spans(value)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { $x: T " + "(" * 5000 + "$x.a = 1" + ")" * 5000 + " } return { $x } }",
        "query q() { match { $x: T " + "not { $x e $y " * 3000 + "}" * 3000 + " } return { $x } }",
        "query q() { match { $x: T " + "not " * 9000 + "$x.a = 1 } return { $x } }",
        "query q() { match { $x: T } return { " + "[" * 4000 + "]" * 4000 + " } }",
        "query q() { match { $x: T " + "not (" * 60 + "$x.a = 1" + ")" * 60 + " } return { $x } }",
        "(" * (MAX_QUERY_CHARACTERS - 1),
    ],
)
def test_deep_nesting_is_refused_by_a_typed_error(text: str) -> None:
    with pytest.raises(ResourceLimit) as raised:
        parse(text)
    assert raised.value.details["limit"] == MAX_NESTING_DEPTH


def test_nesting_below_the_limit_is_fine() -> None:
    depth = MAX_NESTING_DEPTH - 3
    assert condition("(" * depth + "$x.a = 1" + ")" * depth)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ResourceLimit) as raised:
        parse("x" * 10_000_000)
    assert raised.value.details["resource"] == "query text"


@pytest.mark.long
@pytest.mark.parametrize(
    "unit",
    [
        '\\"\n',
        "query query ",
        "/**/",
        "\x00",
        '"',
        "$a.b=1 ",
        "not ",
        "query q(){",
        "[1,",
        "\ud800",
        "9",
        "{}",
        "/*",
    ],
)
def test_long_hostile_text_ends_in_bounded_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    started = time.process_time()
    with suppress(ParseError, ResourceLimit):
        parse(text)
    assert time.process_time() - started < 20


@pytest.mark.long
def test_a_condition_of_many_terms_is_flat() -> None:
    found = condition(" or ".join(["$x.a = 1"] * 20_000))
    assert isinstance(found, ast.OrCondition) and len(found.terms) == 20_000
