"""Every conformance case that reads, on the real engine: on a warm handle and on a new one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

FOLDER = Path(__file__).parent / "cases"


def _cases() -> list[Any]:
    found = []
    for file in sorted(FOLDER.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            case = json.loads(line)
            if case.get("op", "query") == "query" and "load2" not in case:
                found.append(pytest.param(case, id=f"{file.stem}-{case['id']}"))
    return found


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, og.Graph]]:
    """Graphs by schema and data: many cases ask the same one."""
    made: dict[str, og.Graph] = {}
    yield made


@pytest.mark.parametrize("case", _cases())
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
    wanted = _comparable(expect["rows"], case.get("ordered"))
    for reader in (graph, og.open(graph.uri, read_only=True)):
        result = _run(reader, case)
        assert _comparable(result.rows, case.get("ordered")) == wanted
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


def _comparable(rows: list[dict[str, Any]], ordered: bool | None) -> Any:
    texts = [json.dumps(_numbers(row), sort_keys=True) for row in rows]
    return texts if ordered else Counter(texts)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
