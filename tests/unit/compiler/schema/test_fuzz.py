"""Random and mutated texts: only typed errors; random trees: the printer loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import ParseError
from omnigraph.compiler.frontend import compile_schema, format_schema
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.parser import parse_schema
from omnigraph.compiler.schema.printer import print_schema
from support.schemas import schema_texts
from support.syntax_trees import schema_files

pytestmark = pytest.mark.long

_TOKENS = """node edge interface A B { } ( ) : -> @ @key @unique( x I32 [ ] ? , .. -1 1.5 " "a" \\ // /* */
é enum @card("""
_PIECES = st.sampled_from([*_TOKENS.split(), "\n", "\0"])


def _only_parse_errors(text: str) -> None:
    try:
        compile_schema(text)
    except ParseError as error:
        assert error.diagnostics
        for problem in error.diagnostics:
            assert problem.line >= 1
            assert problem.column >= 1
            assert problem.render()


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=200)
def test_random_bytes_give_only_parse_errors(data: bytes) -> None:
    _only_parse_errors(data.decode("latin-1"))
    _only_parse_errors(data.decode("utf-8", errors="surrogateescape"))


@given(st.lists(_PIECES, max_size=40).map(" ".join) | st.lists(_PIECES, max_size=40).map("".join))
@settings(deadline=None, max_examples=400)
def test_random_tokens_give_only_parse_errors(text: str) -> None:
    _only_parse_errors(text)


@given(schema_texts(), st.integers(0, 10_000), st.integers(0, 20), _PIECES)
@settings(deadline=None, max_examples=300)
def test_damaged_schemas_give_only_parse_errors(text: str, at: int, length: int, piece: str) -> None:
    at %= len(text)
    _only_parse_errors(text[:at] + piece + text[at + length :])


@given(schema_files())
@settings(deadline=None, max_examples=400)
def test_a_printed_tree_parses_to_the_same_tree(tree: ast.SchemaFile) -> None:
    text = print_schema(tree)
    assert parse_schema(text) == tree
    assert format_schema(text) == text


@given(schema_texts(hints=True))
@settings(deadline=None, max_examples=100)
def test_formatting_does_not_change_the_meaning(text: str) -> None:
    assert compile_schema(format_schema(text)) == compile_schema(text)


@given(schema_texts(), st.integers(0, 10_000))
@settings(deadline=None, max_examples=200)
def test_formatting_loses_no_comment(text: str, seed: int) -> None:
    words = text.split(" ")
    at = seed % len(words)
    commented = " ".join([*words[:at], "/* kept */", *words[at:]])
    try:
        parse_schema(commented)
    except ParseError:
        return  # the comment fell into a string
    assert format_schema(commented).count("/* kept */") == 1
