"""Every conformance case, as far as the compiler and the reference evaluator can take it."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.base.errors import BadInput, OmniError, ParseError, TypeCheckError
from omnigraph.compiler.frontend import compile_query, compile_schema, format_queries, lint
from omnigraph.compiler.ir.queries import CompiledQuery, ReadQuery
from omnigraph.compiler.lower.bind import bind_read, bind_write
from omnigraph.compiler.values.params import decode_params
from support.cases import cases, comparable
from support.reference import Reader
from support.reference_graph import MemoryGraph
from support.reference_write import run_write

NOW = 1_770_000_000_000


@pytest.mark.parametrize("case", cases(lambda case: case.get("op", "query") in ("query", "mutate", "lint")))
def test_a_case_compiles_as_expected_and_the_reference_agrees(case: dict[str, Any]) -> None:
    expect = case["expect"]
    catalog = compile_schema(case["schema"])
    if case.get("op") == "lint":
        report = lint(case["query"], catalog, {"kind": "file", "path": "x.pg"})
        for name, wanted in expect.items():
            if name != "rows":
                assert report[name] == wanted
        return
    if expect.get("stage") == "validate":
        assert _compile(case, catalog)
        return
    if "error_contains_any" in expect:
        with pytest.raises(_error(expect["stage"])) as raised:
            _bound(case, catalog)
        text = f"{raised.value} {raised.value.code}".lower()
        assert any(part in text for part in expect["error_contains_any"]), text
        return
    _check_rows(case, catalog)


def _error(stage: str) -> type[OmniError]:
    """Return what an error of a stage must be; what the original found while running is found earlier."""
    return {"parse": ParseError, "typecheck": TypeCheckError}.get(stage, BadInput)


def _compile(case: dict[str, Any], catalog: Any) -> CompiledQuery:
    wanted = "mutation" if case.get("op") == "mutate" else "read"
    return compile_query(case["query"], catalog, case.get("query_name"), kind=wanted)  # type: ignore[arg-type]


def _bound(case: dict[str, Any], catalog: Any) -> CompiledQuery:
    query = _compile(case, catalog)
    params = decode_params(case.get("params"), [(item.name, item.type) for item in query.parameters])
    if isinstance(query, ReadQuery):
        return bind_read(query, params, NOW)
    return bind_write(query, params, NOW)


def _check_rows(case: dict[str, Any], catalog: Any) -> None:
    text = format_queries(case["query"])
    assert format_queries(text) == text
    graph = MemoryGraph(catalog)
    graph.load(case["data"])
    if "load2" in case:
        graph.load(case["load2"]["data"], case["load2"]["mode"])
    query = _bound(case, catalog)
    rows = Reader(query, graph).run() if isinstance(query, ReadQuery) else [run_write(query, graph)]
    assert comparable(rows, case.get("ordered")) == comparable(case["expect"]["rows"], case.get("ordered"))
    verify = case.get("verify")
    if verify:
        after = _bound(verify, catalog)
        assert isinstance(after, ReadQuery)
        found = Reader(after, graph).run()
        ordered = verify.get("ordered")
        assert comparable(found, ordered) == comparable(verify["expect"]["rows"], ordered)
