"""`DELETE FROM` without a job: what its condition finds is what the actor sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.pipeline.sql.answers import answer
from support.data_policies import SCHEMA, policy_text

EUROPE = """
permit(principal, action, resource is Person) when { resource has region && resource.region == "eu" };
permit(principal, action, resource is Knows);
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    rows = (("a", "eu", 1), ("b", "us", 7), ("c", "eu", 7), ("d", "us", 3))
    data: list[dict[str, Any]] = [{"name": name, "region": region, "level": at} for name, region, at in rows]
    graph.load([{"type": "Person", "data": item} for item in data], mode="append")
    return graph


def delete(graph: og.Graph, *where: list[Any]) -> dict[str, Any]:
    told = {"ask": "delete", "graph": graph.uri, "branch": "main", "table": "node:Person"}
    told |= {"actor": "act-ada", "policy": policy_text(EUROPE), "where": json.dumps(where)}
    return dict(answer(told).fields[0].metadata)


def test_hidden_rows_are_not_deleted_and_tell_nothing_by_a_refusal(graph: og.Graph) -> None:
    nobody = delete(graph, ["=", "level", 99])
    # One hidden row has this level, and another one this region.
    assert delete(graph, ["=", "level", 3]) == delete(graph, ["=", "region", "us"]) == nobody == {"rows": 0}
    assert delete(graph, ["=", "level", 7]) == {"rows": 1}
    left = graph.query("query q() { match { $p: Person } return { $p.name } order { $p.name } }").rows
    assert [row["p.name"] for row in left] == ["a", "b", "d"]
    assert delete(graph) == {"rows": 1}
