"""The page on the query language: every example compiles, fails or answers as it says."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.base.errors import TypeCheckError
from omnigraph.compiler.frontend import compile_query, compile_schema, format_queries
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.lower.bind import bind_read
from omnigraph.compiler.query.tokens import MAX_NESTING_DEPTH, MAX_QUERY_CHARACTERS
from support.compiling import compile_queries
from support.reference import Reader
from support.reference_graph import MemoryGraph

PAGE = (Path(__file__).parents[4] / "docs" / "query-language.md").read_text()
BLOCKS = re.findall(r"^```(\w+) ?(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CATALOG = compile_schema(next(text for language, _, text in BLOCKS if language == "pg"))
DATA = next(text for language, _, text in BLOCKS if language == "ndjson")
EXAMPLES = [(code, text) for language, code, text in BLOCKS if language == "gq"]
ANSWERS = [
    (text, answer)
    for (language, _, text), (following, _, answer) in pairwise(BLOCKS)
    if language == "gq" and following == "json"
]


@pytest.mark.parametrize(("code", "text"), EXAMPLES)
def test_an_example_compiles_or_fails_with_its_code(code: str, text: str) -> None:
    assert format_queries(format_queries(text)) == format_queries(text)
    if not code:
        assert compile_queries(text, CATALOG)
        return
    with pytest.raises(TypeCheckError) as raised:
        compile_queries(text, CATALOG)
    assert {item.code for item in raised.value.diagnostics} == {code}


@pytest.mark.parametrize(("text", "answer"), ANSWERS)
def test_an_example_with_an_answer_gives_it(text: str, answer: str) -> None:
    graph = MemoryGraph(CATALOG)
    graph.load(json.loads(line) for line in DATA.splitlines())
    query = compile_query(text, CATALOG)
    assert isinstance(query, ReadQuery)
    rows = Reader(bind_read(query, {}, 0), graph).run()
    assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, json.loads(answer)))


def test_there_are_answers_and_failures_among_the_examples() -> None:
    assert len(ANSWERS) == 11
    assert len([code for code, _ in EXAMPLES if code]) >= 4


def test_every_code_and_limit_is_on_the_page() -> None:
    for code in [*(f"T{number}" for number in range(1, 25)), "D2"]:
        assert f"\n| {code} |" in PAGE
    assert f"{MAX_QUERY_CHARACTERS:,} characters" in PAGE and f"{MAX_NESTING_DEPTH} levels" in PAGE
