"""Writes over HTTP take a key and the commit that must still be the head, or say that they do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

BASE = "/graphs/people"
SCHEMA = "node N { name: String @key  age: I64?  scan: Blob? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "people", SCHEMA)
    graph.load([{"type": "N", "data": {"name": "a", "scan": b"01"}}], mode="append")
    graph.branches.create("review")
    graph.mutate('query q() { insert N { name: "r" } }', branch="review")
    return graph


@pytest.fixture
def client(graph: og.Graph, tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(create_app(ServerConfig({"people": graph.uri}, state=tmp_path / "state"))) as client:
        yield client


def write(client: TestClient, graph: og.Graph, name: str, headers: dict[str, str]) -> Any:
    """Send a write of a kind."""
    if name == "blob":
        id = graph.query('query q() { match { $n: N { name: "a" } } return { $n.id } }').scalar()
        where = {"entity": "node", "type": "N", "property": "scan", "id": id}
        return client.put(f"{BASE}/blob", params=where, content=b"new", headers=headers)
    if name == "load":
        line = b'{"type": "N", "data": {"name": "l"}}\n'
        return client.post(f"{BASE}/load/ndjson?mode=append", content=line, headers=headers)
    commit = graph.commits.list("review")[-3].id  # the one that the fixture made there
    schema = SCHEMA.replace("age: I64?", "age: I64?  size: I64?")
    path, body = {
        "mutate": ("mutate", {"query": 'query q() { insert N { name: "m" } }'}),
        "merge": ("branches/merge", {"source": "review"}),
        "reset": ("branches/main/reset", {"commit": "review"}),
        "revert": (f"commits/{commit}/revert", {"branch": "review"}),
        "cherry-pick": (f"commits/{commit}/cherry-pick", {}),
        "schema": ("schema/apply", {"schema_source": schema}),
    }[name]
    return client.post(f"{BASE}/{path}", json=body, headers=headers)


WRITES = ["mutate", "load", "merge", "reset", "revert", "cherry-pick", "schema", "blob"]


@pytest.mark.parametrize("name", WRITES)
def test_a_write_holds_to_the_commit_that_must_still_be_the_head(
    client: TestClient, graph: og.Graph, name: str
) -> None:
    branch = "review" if name == "revert" else "main"
    old = graph.commits.list(branch)[1].id
    head = graph.snapshot(branch).commit_id
    answer = write(client, graph, name, {"Omnigraph-If-Graph-Commit": old})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert graph.snapshot(branch).commit_id == head
    answer = write(client, graph, name, {"Omnigraph-If-Graph-Commit": head})
    assert answer.status_code == 200, answer.text
    assert graph.snapshot(branch).commit_id != head


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_is_repeated_under_its_key_is_answered_with_its_commit(
    client: TestClient, graph: og.Graph, name: str
) -> None:
    first, again = (write(client, graph, name, {"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200), again.text
    member = "commit" if name in ("mutate", "load") else "commit_id"
    assert again.json()[member] == first.json()[member]
    branch = "review" if name == "revert" else "main"
    assert graph.snapshot(branch).commit_id == first.json()[member]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "optimize", {}),
        ("POST", "cleanup", {}),
        ("POST", "branches", {"name": "x"}),
        ("DELETE", "branches/review", None),
        ("POST", "branches/review/rebase", {}),
        ("POST", "tags", {"name": "x"}),
        ("POST", "query", {"query": "query q() { match { $n: N } return { $n.name } }"}),
        ("POST", "jobs/optimize", {}),
    ],
)
def test_what_cannot_hold_to_a_commit_refuses_to_be_asked(
    client: TestClient, graph: og.Graph, method: str, path: str, body: Any
) -> None:
    headers = {"Omnigraph-If-Graph-Commit": graph.snapshot().commit_id}
    answer = client.request(method, f"{BASE}/{path}", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert "Omnigraph-If-Graph-Commit" in answer.json()["error"]


def test_a_table_that_has_moved_is_told_as_older_clients_read_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: Any, **__: Any) -> None:
        raise og.ExpectedVersionMismatch("moved", table_key="node:N", expected=1, actual=2)

    monkeypatch.setattr(og.Graph, "mutate", lose)
    answer = client.post(f"{BASE}/mutate", json={"query": "query q() { delete N where age = 1 }"})
    assert (answer.status_code, answer.headers["retry-after"]) == (409, "1")
    assert answer.json()["manifest_conflict"] == {"table_key": "node:N", "expected": 1, "actual": 2}
