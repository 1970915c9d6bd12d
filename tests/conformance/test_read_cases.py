"""Every conformance case that reads, on the real engine: on a warm handle and on a new one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.cases import cases, comparable


def _reads(case: dict[str, Any]) -> bool:
    return case.get("op", "query") == "query" and "load2" not in case


@dataclass(frozen=True)
class Graphs:
    """Graphs by schema and data: many cases ask the same one."""

    folder: Path
    made: dict[str, og.Graph] = field(default_factory=dict)

    def of(self, case: dict[str, Any]) -> og.Graph:
        """Return the graph of a case."""
        name = json.dumps([case["schema"], case.get("data")])
        if name not in self.made:
            self.made[name] = og.init(self.folder / str(len(self.made)), case["schema"])
            if case.get("data"):
                self.made[name].load(case["data"], mode=case.get("load_mode", "overwrite"))
        return self.made[name]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(tmp_path_factory.mktemp("graphs"))


@pytest.mark.parametrize("case", cases(_reads))
def test_a_read_gives_what_its_case_says(case: dict[str, Any], graphs: Graphs) -> None:
    expect = case["expect"]
    if "error_contains_any" in expect:
        with pytest.raises(og.OmniError) as raised:
            _run(graphs.of(case), case)
        text = f"{raised.value} {raised.value.code}".lower()
        assert any(part in text for part in expect["error_contains_any"]), text
        return
    graph = graphs.of(case)
    wanted = comparable(expect["rows"], case.get("ordered"))
    for reader in (graph, og.open(graph.uri, read_only=True)):
        result = _run(reader, case)
        assert comparable(result.rows, case.get("ordered")) == wanted
        assert len(result) == len(expect["rows"])
        assert result.to_arrow().num_rows == len(result)


def _run(graph: og.Graph, case: dict[str, Any]) -> og.Result:
    return graph.query(case["query"], case.get("params"), name=case.get("query_name"))
