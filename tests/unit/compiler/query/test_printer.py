"""Printing: canonical, complete, and parsed back to the same tree."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import ParseError, ResourceLimit
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parser import parse
from omnigraph.compiler.query.printer import print_file
from support.query_trees import files, without_places

TESTS = Path(__file__).parents[3]
SLOW = [
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
    HealthCheck.data_too_large,
]


def formatted(text: str) -> str:
    return print_file(parse(text))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
@given(files)
def test_a_printed_tree_is_parsed_back(file: ast.File) -> None:
    text = print_file(file)
    try:
        again = parse(text)
    except ResourceLimit:
        return
    assert without_places(again) == without_places(file)
    assert print_file(again) == text


def _texts() -> list[str]:
    golden = [file.read_text() for file in sorted((TESTS / "golden" / "query").glob("*.gq"))]
    cases = [
        json.loads(line)["query"]
        for file in sorted((TESTS / "conformance" / "cases").glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    return [*golden, *cases]


def test_formatting_keeps_the_meaning_and_is_stable() -> None:
    seen = 0
    for text in _texts():
        try:
            before = parse(text)
        except ParseError:
            continue
        after = print_file(before)
        assert without_places(replace(parse(after), comments=())) == without_places(
            replace(before, comments=())
        )
        assert formatted(after) == after
        seen += 1
    assert seen > 300


def test_the_canonical_form() -> None:
    text = (
        'query q($a:String,$n:[I32]?)@description("d"){match{$x:T{p:$a,q:-1}$x $e:<k>{1,3}$y as $l '
        "not{$x e $y}($a contains $n)or($x.a=1 and not $x.b is null)}"
        "return distinct{$x.p as z count(distinct $y)}"
        "order{z desc,nearest($x.v,$a)}limit $n skip 2}"
        "query w(){insert T{a:1 b:null}update T set{a:now()}where not(a=1 or b in[1,2])"
        "delete T where a is not null}"
    )
    assert formatted(text) == (
        "query q($a: String, $n: [I32]?)\n"
        '  @description("d")\n'
        "{\n"
        "  match {\n"
        "    $x: T { p: $a, q: -1 }\n"
        "    $x $e:<k>{1,3} $y as $l\n"
        "    not {\n"
        "      $x e $y\n"
        "    }\n"
        "    ($a contains $n) or $x.a = 1 and not $x.b is null\n"
        "  }\n"
        "  return distinct {\n"
        "    $x.p as z,\n"
        "    count(distinct $y)\n"
        "  }\n"
        "  order { z desc, nearest($x.v, $a) }\n"
        "  skip 2\n"
        "  limit $n\n"
        "}\n"
        "\n"
        "query w() {\n"
        "  insert T {\n"
        "    a: 1,\n"
        "    b: null\n"
        "  }\n"
        "  update T set {\n"
        "    a: now()\n"
        "  } where not (a = 1 or b in [1, 2])\n"
        "  delete T where a is not null\n"
        "}\n"
    )


def test_comments_stay_where_they_belong() -> None:
    text = (
        "// about the file\n"
        "query q() { // beside the header\n"
        "  match {\n"
        "    // above\n"
        "    $x: T // beside\n"
        "    /* block\n       of two */\n"
        "    $x e $y\n"
        "    // last in match\n"
        "  }\n"
        "  return {\n"
        "    $x, // first column\n"
        "    $y\n"
        "  }\n"
        "} // after\n"
        "\n"
        "// before the next\n"
        "query r() {\n"
        "  delete T where a = 1\n"
        "}\n"
        "\n"
        "// at the end\n"
    )
    assert formatted(text) == text


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(_texts()), st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["// c\n", "/* d */"])))
)
def test_no_comment_is_lost(text: str, places: list[tuple[float, str]]) -> None:
    for where, comment in places:
        at = int(where * len(text))
        text = f"{text[:at]} {comment} {text[at:]}"
    try:
        before = parse(text)
    except ParseError:
        return
    after = parse(print_file(before))
    assert [item.text for item in after.comments] == [item.text for item in before.comments]
    assert print_file(after) == print_file(before)


@pytest.mark.parametrize("text", ["", "\n", "// only\n", "/* a */ // b\n"])
def test_a_file_without_queries_keeps_its_comments(text: str) -> None:
    assert formatted(formatted(text)) == formatted(text)
    assert formatted(text).split() == text.split()
