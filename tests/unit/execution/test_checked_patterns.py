"""Patterns are judged by the compiler as they are by what looks for them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from omnigraph.base.errors import BadInput, ResourceLimit, TypeCheckError
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.functions.patterns import MOST_OPTIONS, find_pattern_problem, require_few_options
from omnigraph.execution.patterns import find_pattern
from omnigraph.graph.schema_apply.check_satisfiable import check_usable
from support.examples import examples

_LETTERS = "ab-()[]^$.*+?{}120,|\\:=!<>_é日 &\n"
_WORDS = r"""
(? (?i (?i) (?-s: (?P< (?< n> (?: (?= (?<! 1000 1001 {2, {,3} {2} {3,2} {0,1000}
\\ \Q \E \d \w \b \A \z \C \pL \pX \p{Greek} \P{ \x \x{ \x41 \x{41} \_ \8 \1 \12 \0
[: [:alpha:] [:^digit:] [:none:] :] [[: a-z z-a [^ \- \] 41 FF
"""
_PARTS = [*_LETTERS, *_WORDS.split()]


def _refusal(pattern: str) -> str | None:
    try:
        find_pattern(pa.array([""]), pattern)
    except BadInput as error:
        return str(error)
    return None


def _is_judged_alike(pattern: str, problem: str | None) -> bool:
    """Return whether both judge alike; how large an automaton is, only one of them knows."""
    refusal = _refusal(pattern)
    return (problem is None) == (refusal is None) or (problem is None and "too large" in str(refusal))


def test_the_compiler_refuses_what_is_no_regular_expression_and_nothing_else() -> None:
    draw = random.Random(7)
    patterns = {"".join(draw.choices(_PARTS, k=draw.randint(1, 8))) for _ in range(examples(10_000))}
    judged = [(pattern, find_pattern_problem(pattern)) for pattern in patterns]
    assert [item for item in judged if not _is_judged_alike(*item)] == []
    refused = sum(why is not None for _, why in judged)
    assert len(patterns) / 5 < refused < len(patterns) * 4 / 5


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a(b", "missing ): (b"),
        ("a)", "unexpected )"),
        ("[a-", "missing ]: [a-"),
        ("+a", "nothing stands before +"),
        ("a**", "two repetitions follow each other: **"),
        ("a{1001}", "{1001} is not a repetition: at most 1000"),
        ("(?<=a)b", "there is no look-around: (?<="),
        (r"(a)\1", r"\1 is not an escape: there are no back-references"),
        ("a\\", "it ends in a backslash"),
        ("[z-a]", "z-a is not a range"),
        (r"\p{}", r"there is no class \p{}"),
        ("(?P<n>a)(?P<n>b)", "two groups are called n"),
        (r"\x{110000}", r"there is no character \x{110000}"),
    ],
)
def test_a_literal_pattern_is_refused_at_its_place(pattern: str, why: str) -> None:
    catalog = compile_schema("node P { name: String @key }")
    quoted = pattern.replace("\\", "\\\\")
    with pytest.raises(TypeCheckError) as told:
        compile_query(
            f'query q() {{ match {{ $p: P  matches($p.name, "{quoted}") }} return {{ $p }} }}', catalog
        )
    [problem] = told.value.diagnostics
    assert (problem.code, problem.line, problem.column) == ("T25", 1, 45)
    assert why in problem.message


def test_a_pattern_whose_automaton_is_too_large_is_refused_before_anything_is_read() -> None:
    pattern = "((a{1000}){1000}){1000}"
    assert find_pattern_problem(pattern) is None
    assert _refusal(pattern) is not None


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("[a-z]{1,1000}" * 11, 10_989),
        ("a?" * 10_001, 10_001),
        ("(?:a?b*){0,400}" * 9, 10_800),
        ("((a{0,10}){0,10}){0,10}" * 10, 11_100),
        ("(?:a?){1000}" * 10 + "b{2,}", 10_001),
    ],
)
def test_a_pattern_of_too_many_optional_parts_is_refused_wherever_it_is_given(
    pattern: str, options: int
) -> None:
    schema = "node P { name: String @key }"
    catalog = compile_schema(schema)

    def literal() -> None:
        text = f'query q() {{ match {{ $p: P  matches($p.name, "{pattern}") }} return {{ $p }} }}'
        compile_query(text, catalog)

    def rule() -> None:
        check_usable(compile_schema(f'node P {{ name: String @key @check(name, "{pattern}") }}'))

    for give in (literal, rule, lambda: find_pattern(pa.array([""]), pattern)):
        with pytest.raises(ResourceLimit) as told:
            give()
        limits = told.value.resource, told.value.limit, told.value.actual
        assert limits == ("pattern_options", MOST_OPTIONS, options)


@pytest.mark.parametrize(
    "pattern", ["[a-z]{1,1000}" * 10, "(?:ab|c){1000}" * 20, "x+y*" * 5_000, "word|" * 20_000, "a{0}(b?){0}"]
)
def test_what_repeats_as_often_without_options_or_less_is_taken(pattern: str) -> None:
    require_few_options(pattern)
