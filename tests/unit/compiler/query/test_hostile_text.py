"""Random and broken text: nothing but typed errors comes of it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import ParseError, ResourceLimit, TypeCheckError
from omnigraph.compiler.frontend import compile_query, compile_schema, format_queries, lint
from support.compiling import compile_queries

FOLDER = Path(__file__).parents[3] / "golden" / "query"
CATALOG = compile_schema((FOLDER / "schema.pg").read_text())
TEXTS = [file.read_text() for file in sorted(FOLDER.glob("*.gq"))]
PIECES = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "$p",
    "not",
    "null",
    "query",
    '"',
    "\\",
    "-",
    "<",
    "knows",
    "//",
    "/*",
    "9",
]


def swallow(text: str) -> None:
    """Compile, format and lint a text; typed errors are fine."""
    with suppress(ParseError, TypeCheckError, ResourceLimit):
        compile_queries(text, CATALOG)
    with suppress(ParseError, ResourceLimit):
        format_queries(text)
    with suppress(ResourceLimit):
        lint(text, CATALOG, {"kind": "file", "path": "x.pg"})


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    swallow(data.decode("utf-8", "surrogateescape"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join))
def test_random_tokens(text: str) -> None:
    swallow(f"query q() {{ match {{ {text} }} return {{ $p }} }}")


@pytest.mark.long
@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(TEXTS),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(["", *PIECES])), min_size=1, max_size=4
    ),
)
def test_mutated_queries(text: str, edits: list[tuple[float, int, str]]) -> None:
    for where, dropped, added in edits:
        at = int(where * len(text))
        text = f"{text[:at]} {added} {text[at + dropped :]}"
    swallow(text)


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { "
        + " ".join(f"$v{at}: Person" for at in range(20_000))
        + " not { $v1 knows $_ } " * 9_000
        + "} return { $v1 } }",
        "query q() { match { $p: Person } return { "
        + "$p.age as a " * 20_000
        + "} order { "
        + "a, " * 20_000
        + "a } }",
        "query q() { match { $p: Person } return { $p.tier, count($p) as n } order { "
        + "n, " * 30_000
        + "n } }",
        "query q() { match { " + "$p: Persn " * 30_000 + "} return { $p } }",
        "query q() { match { $p: Person  $p.age in [" + "1, " * 90_000 + "1] } return { $p } }",
        "query q() { " + "delete Persn where x = 1 " * 20_000 + "}",
        'query q() { match { $p: Person { name: "' + "x" * 1_000_000 + '" } } return { $p } }',
        "query q() { match { $p: Person  " + "$p.nme = $pp or " * 20_000 + "$p.age = 1 } return { $p } }",
        "query q("
        + ", ".join(f"$a{at}: I32" for at in range(30_000))
        + ") { match { $p: Person } return { $zz } }",
    ],
    ids=range(9),
)
def test_long_text_is_checked_in_bounded_time(text: str) -> None:
    started = time.process_time()
    with suppress(ParseError, TypeCheckError, ResourceLimit):
        compile_query(text, CATALOG)
    assert time.process_time() - started < 20


def test_the_problems_of_one_file_are_bounded() -> None:
    with pytest.raises(TypeCheckError) as raised:
        compile_query("query q() { match { " + "$p: Persn " * 5_000 + "} return { $p } }", CATALOG)
    assert len(raised.value.diagnostics) == 100
