"""Every conformance case that loads or mutates, on the real engine; what is stored is then read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.frontend import compile_query
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.lower.bind import bind_read
from omnigraph.compiler.values.params import decode_params
from support.cases import cases, comparable
from support.reference import Reader
from support.stored_graph import read_back

NOW = 1_770_000_000_000


def _writes(case: dict[str, Any]) -> bool:
    return bool(case.get("op") in ("mutate", "load") or "load2" in case or case.get("load_mode"))


@pytest.mark.parametrize("case", cases(_writes))
def test_a_write_does_what_its_case_says(case: dict[str, Any], tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", case["schema"])
    expect = case["expect"]
    expects_error = "error_contains_any" in expect
    if (expects_error and case.get("op", "query") != "query") or (expects_error and "load2" in case):
        before: list[og.TableInfo] = []
        with pytest.raises(og.OmniError) as raised:
            _run(graph, case, before)
        text = f"{raised.value} {raised.value.code}".lower()
        assert any(part in text for part in expect["error_contains_any"]), text
        assert graph.snapshot().tables == before, "a refused write changed the graph"
    else:
        rows = _run(graph, case, [])
        if not expects_error:
            assert comparable(rows, case.get("ordered")) == comparable(expect["rows"], case.get("ordered"))
    if "verify" in case:
        verify = case["verify"]
        found = _read(graph, verify)
        ordered = verify.get("ordered")
        assert comparable(found, ordered) == comparable(verify["expect"]["rows"], ordered)


def _run(graph: og.Graph, case: dict[str, Any], before: list[og.TableInfo]) -> list[dict[str, Any]]:
    """Run a case up to its answer, keeping in `before` what stood before its last write."""
    counts: dict[str, int] = {}
    steps = [(case.get("load_mode", "overwrite"), case.get("data"))]
    if "load2" in case:
        steps.append((case["load2"]["mode"], case["load2"]["data"]))
    for mode, data in steps:
        if data is not None:
            before[:] = graph.snapshot().tables
            done = graph.load(data, mode=mode)
            counts = {**done.nodes, **done.edges}
    if case.get("op") == "load":
        return [counts]
    if case.get("op") == "mutate":
        before[:] = graph.snapshot().tables
        done_now = graph.mutate(case["query"], case.get("params"), name=case.get("query_name"))
        assert (done_now.commit_id is None) == (before == graph.snapshot().tables)
        return [{"affected_nodes": done_now.affected_nodes, "affected_edges": done_now.affected_edges}]
    return _read(graph, case)


def _read(graph: og.Graph, case: dict[str, Any]) -> list[dict[str, Any]]:
    snapshot = graph.snapshot()
    query = compile_query(case["query"], snapshot.catalog, case.get("query_name"), kind="read")
    assert isinstance(query, ReadQuery)
    params = decode_params(case.get("params"), [(item.name, item.type) for item in query.parameters])
    return Reader(bind_read(query, params, NOW), read_back(snapshot)).run()
