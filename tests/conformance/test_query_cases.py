"""Every conformance case, as far as the compiler and the reference evaluator can take it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import BadInput, OmniError, ParseError, TypeCheckError
from omnigraph.compiler.frontend import compile_query, compile_schema, format_queries, lint
from omnigraph.compiler.ir.queries import CompiledQuery, ReadQuery
from omnigraph.compiler.lower.bind import bind_read, bind_write
from omnigraph.compiler.values.params import decode_params
from support.reference import Reader
from support.reference_graph import MemoryGraph
from support.reference_write import run_write

FOLDER = Path(__file__).parent / "cases"
NOW = 1_770_000_000_000


def _cases() -> list[Any]:
    found = []
    for file in sorted(FOLDER.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            case = json.loads(line)
            if case.get("op", "query") in ("query", "mutate", "lint"):
                found.append(pytest.param(case, id=f"{file.stem}-{case['id']}"))
    return found


@pytest.mark.parametrize("case", _cases())
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
    assert _comparable(rows, case.get("ordered")) == _comparable(case["expect"]["rows"], case.get("ordered"))
    verify = case.get("verify")
    if verify:
        after = _bound(verify, catalog)
        assert isinstance(after, ReadQuery)
        found = Reader(after, graph).run()
        ordered = verify.get("ordered")
        assert _comparable(found, ordered) == _comparable(verify["expect"]["rows"], ordered)


def _comparable(rows: list[dict[str, Any]], ordered: bool | None) -> Any:
    texts = [json.dumps(_numbers(row), sort_keys=True) for row in rows]
    return texts if ordered else Counter(texts)


def _numbers(value: Any) -> Any:
    """Make numbers comparable by value: 2 and 2.0 are one."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
