"""Every conformance case that reads, on the real engine: on a warm handle and on a new one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.cases import cases, comparable


def _reads(case: dict[str, Any]) -> bool:
    return case.get("op", "query") == "query" and "load2" not in case


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, og.Graph]]:
    """Graphs by schema and data: many cases ask the same one."""
    made: dict[str, og.Graph] = {}
    yield made


@pytest.mark.parametrize("case", cases(_reads))
def test_a_read_gives_what_its_case_says(
    case: dict[str, Any], graphs: dict[str, og.Graph], tmp_path: Path
) -> None:
    expect = case["expect"]
    if "error_contains_any" in expect:
        with pytest.raises(og.OmniError) as raised:
            _run(_graph(case, graphs, tmp_path), case)
        text = f"{raised.value} {raised.value.code}".lower()
        assert any(part in text for part in expect["error_contains_any"]), text
        return
    graph = _graph(case, graphs, tmp_path)
    wanted = comparable(expect["rows"], case.get("ordered"))
    for reader in (graph, og.open(graph.uri, read_only=True)):
        result = _run(reader, case)
        assert comparable(result.rows, case.get("ordered")) == wanted
        assert len(result) == len(expect["rows"])
        assert result.to_arrow().num_rows == len(result)


def _graph(case: dict[str, Any], graphs: dict[str, og.Graph], tmp_path: Path) -> og.Graph:
    name = json.dumps([case["schema"], case.get("data")])
    if name not in graphs:
        graphs[name] = og.init(tmp_path / "graph", case["schema"])
        if case.get("data"):
            graphs[name].load(case["data"], mode=case.get("load_mode", "overwrite"))
    return graphs[name]


def _run(graph: og.Graph, case: dict[str, Any]) -> og.Result:
    return graph.query(case["query"], case.get("params"), name=case.get("query_name"))
