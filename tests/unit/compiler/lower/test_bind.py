"""Binding: parameters become constants, and the compiled query stays as it was."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import BadInput, ValidationError
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import CompiledQuery, ReadQuery, WriteQuery
from omnigraph.compiler.lower.bind import bind_read, bind_write
from omnigraph.compiler.values.params import decode_params
from support.show_ir import show

FOLDER = Path(__file__).parents[3] / "golden" / "query"
CATALOG = compile_schema((FOLDER / "schema.pg").read_text())


def read(text: str, data: dict[str, Any], now: int = 0) -> ReadQuery:
    query = compile_query(text, CATALOG)
    assert isinstance(query, ReadQuery)
    return bind_read(query, decode_params(data, [(item.name, item.type) for item in query.parameters]), now)


def write(text: str, data: dict[str, Any], now: int = 0) -> WriteQuery:
    query = compile_query(text, CATALOG)
    assert isinstance(query, WriteQuery)
    return bind_write(query, decode_params(data, [(item.name, item.type) for item in query.parameters]), now)


def test_no_parameter_and_no_now_is_left() -> None:
    bound = read(
        "query q($a: F64, $b: [String], $v: Vector(3), $t: String, $k: I32, $n: I64, $e: I32?) {"
        " match { $p: Person { height: $a }  $p.email in $b  not { $p knows $q  $q.age = $e }"
        " optional { $p wrote $d  search($d.body, $t) or fuzzy($d.title, $t, $k) }"
        " $p.seen < now() and ($t contains $t) and $t starts_with $p.email and $e is null }"
        " return { $t, now() as at, bm25($p.bio, $t) as s }"
        " order { rrf(nearest($p.face, $v), bm25($p.bio, $t), $k) } skip $n limit $n }",
        {"a": 0.1, "b": ["x"], "v": [1, 2, 3], "t": "words", "k": 2, "n": 5},
        now=1234,
    )
    text = show(bound)
    assert "Parameter(" not in text and "Now(" not in text and "RoundedToF32" not in text
    assert "1234" in text
    assert "0.10000000149011612" in text


def test_a_query_is_compiled_once_and_bound_many_times() -> None:
    query = compile_query("query q($n: String) { match { $p: Person { name: $n } } return { $p } }", CATALOG)
    assert isinstance(query, ReadQuery)
    before = show(query)
    assert show(bind_read(query, {"n": "a"}, 0)) != show(bind_read(query, {"n": "b"}, 0))
    assert show(query) == before


def test_a_stored_value_takes_the_width_of_its_property() -> None:
    bound = write(
        "query q($a: I64, $h: F64) { update Person set { age: $a, height: $h, seen: now() }"
        ' where name = "x" }',
        {"a": 7, "h": 0.1},
        now=99,
    )
    assert (
        "value=7, type=I32?" in show(bound)
        and "0.10000000149011612" in show(bound)
        and "value=99" in show(bound)
    )


@pytest.mark.parametrize(
    ("declared", "value", "part"),
    [
        ("F64", 1.5, "float 1.5"),
        ("I64", 2**31, "exceeds the range"),
        ("I64?", None, "null does not fit"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(declared: str, value: Any, part: str) -> None:
    target = "City set { size: $v }" if "range" not in part else "Person set { age: $v }"
    text = f'query q($v: {declared}) {{ update {target} where name = "x" }}'
    if value is None:
        text = 'query q($v: String?) { update Person set { tier: $v } where name = "x" }'
    with pytest.raises(ValidationError, match=part):
        write(text, {"v": value})


def test_a_negative_page_and_a_bad_k_are_refused() -> None:
    with pytest.raises(BadInput, match="limit must not be negative"):
        read("query q($n: I32) { match { $p: Person } return { $p } limit $n }", {"n": -1})
    with pytest.raises(BadInput, match="k of rrf"):
        read(
            "query q($k: I32) { match { $d: Doc } return { $d.title } "
            'order { rrf(nearest($d.vec, "x"), bm25($d.body, "x"), $k) } limit 3 }',
            {"k": 0},
        )


def test_compiled_queries_pickle_and_compare() -> None:
    query: CompiledQuery = compile_query("query q() { match { $p: Person } return { $p } }", CATALOG)
    assert pickle.loads(pickle.dumps(query)) == query
