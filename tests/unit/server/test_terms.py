"""Writes over HTTP take a key and the commit that must still be the head, or say that they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens
from omnigraph.server.limits import RequestLimits
from omnigraph.server.requests.engine_route import EngineRoute

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


KEYED: list[tuple[str, str, Any]] = [
    ("POST", "branches", {"name": "x"}),
    ("DELETE", "branches/review", None),
    ("POST", "branches/review/rename", {"name": "other"}),
    ("POST", "branches/review/rebase", {}),
    ("PUT", "branches/review/protection", {}),
    ("POST", "tags", {"name": "t"}),
    ("DELETE", "tags/kept", None),
    ("POST", "optimize", {}),
    ("POST", "cleanup", {"keep": 1}),
    ("POST", "proposals", {"source": "review"}),
]


@pytest.mark.parametrize(("method", "path", "body"), KEYED)
def test_a_write_that_makes_no_commit_is_answered_as_it_was_when_it_is_repeated(
    client: TestClient, graph: og.Graph, method: str, path: str, body: Any
) -> None:
    graph.tags.create("kept")
    headers = {"Idempotency-Key": "k"}
    first, again = (client.request(method, f"{BASE}/{path}", json=body, headers=headers) for _ in range(2))
    assert first.status_code in (200, 201, 204), first.text
    assert (again.status_code, again.content) == (first.status_code, first.content)
    other = client.post(f"{BASE}/branches", json={"name": "y"}, headers=headers)
    assert other.status_code == (201 if path == "proposals" else 409), other.text


def test_a_write_that_was_refused_may_be_tried_again_under_its_key(
    client: TestClient, graph: og.Graph
) -> None:
    headers = {"Idempotency-Key": "k"}
    assert client.post(f"{BASE}/branches", json={"name": "review"}, headers=headers).status_code == 409
    graph.branches.delete("review")
    assert client.post(f"{BASE}/branches", json={"name": "review"}, headers=headers).status_code == 201
    for key in ("", "x" * 1_025):
        refused = client.post(f"{BASE}/tags", json={"name": "t"}, headers={"Idempotency-Key": key})
        assert refused.status_code == 400, key


def test_requests_under_one_key_wait_for_the_first_and_other_actors_have_keys_of_their_own(
    client: TestClient, graph: og.Graph
) -> None:
    def create(_: int) -> Any:
        return client.post(f"{BASE}/branches", json={"name": "x"}, headers={"Idempotency-Key": "k"})

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(create, range(4)))
    assert {(answer.status_code, answer.text) for answer in answers} == {(201, answers[0].text)}


def test_a_key_whose_worker_died_in_the_middle_never_says_that_nothing_was_done(
    client: TestClient, graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create() -> Any:
        return client.post(f"{BASE}/branches", json={"name": "x"}, headers={"Idempotency-Key": "k"})

    first = create()
    (kept,) = [path for path in (tmp_path / "state/answers" / graph.id).iterdir() if path.name[0] != "."]
    lines = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(lines[0] + lines[1][:9])  # as if it had died while it wrote the answer
    again = create()
    assert (again.status_code, again.json()["code"]) == (503, "outcome_unknown")
    assert again.json()["details"]["code"] == "already_exists"
    graph.branches.delete("x")
    assert (create().status_code, create().text == first.text) == (201, False)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "optimize", {}),
        ("POST", "cleanup", {}),
        ("POST", "branches", {"name": "x"}),
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


def test_a_branch_is_deleted_only_as_long_as_its_head_is_the_one_that_was_seen(
    client: TestClient, graph: og.Graph
) -> None:
    seen = graph.snapshot("review").commit_id
    graph.mutate('query q() { insert N { name: "later" } }', branch="review")
    answer = client.delete(f"{BASE}/branches/review", headers={"Omnigraph-If-Graph-Commit": seen})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    head = graph.snapshot("review").commit_id
    answer = client.delete(f"{BASE}/branches/review", headers={"Omnigraph-If-Graph-Commit": head})
    assert (answer.status_code, graph.branches.list()) == (204, ["main"])


def test_a_proposal_is_merged_only_as_it_was_looked_at(client: TestClient, graph: og.Graph) -> None:
    made = graph.proposals.create("review")
    path, seen = f"{BASE}/proposals/{made.id}/merge", made.source_commit
    graph.mutate('query q() { insert N { name: "later" } }', branch="review")
    answer = client.post(path, json={"commit": seen})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert "look again" in answer.json()["error"]
    head = graph.snapshot("review").commit_id
    assert client.post(path, json={"commit": head}).status_code == 200
    assert client.post(path, json={"commit": seen}).status_code == 200, "it is merged already"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "branches/review/rename", {"name": "other"}),
        ("POST", "branches/review/rebase", {}),
        ("POST", "branches/gone/restore", None),
        ("DELETE", "tags/kept", None),
    ],
)
def test_a_branch_or_tag_changes_only_as_long_as_it_is_at_the_commit_that_was_seen(
    client: TestClient, graph: og.Graph, method: str, path: str, body: Any
) -> None:
    seen = graph.snapshot("review").commit_id
    head = graph.mutate('query q() { insert N { name: "later" } }', branch="review").commit_id
    graph.mutate('query q() { insert N { name: "elsewhere" } }')
    graph.branches.create("gone", "review")
    graph.branches.delete("gone")
    graph.tags.create("kept", branch="review")

    def look() -> tuple[Any, ...]:
        names = graph.branches.list()
        at = graph.snapshot("review").commit_id if "review" in names else None
        return names, at, len(graph.tags.list())

    before = look()
    answer = client.request(method, f"{BASE}/{path}", json=body, headers={"Omnigraph-If-Graph-Commit": seen})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert (answer.json()["details"]["actual"], look()) == (head, before)
    headers = {"Omnigraph-If-Graph-Commit": str(head)}
    answer = client.request(method, f"{BASE}/{path}", json=body, headers=headers)
    assert answer.status_code in (200, 204), answer.text
    assert look() != before


@pytest.mark.parametrize("path", ["mutate", "queries/add"])
def test_the_paths_for_a_condition_need_one(client: TestClient, graph: og.Graph, path: str) -> None:
    text = 'query add() { insert N { name: "x" } }'
    head = graph.queries.apply({"q.gq": text}).commit_id
    body = {"query": text} if path == "mutate" else {}
    url = f"{BASE}/{path}/if-graph-commit"
    answer = client.post(url, json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    answer = client.post(url, json=body, headers={"Omnigraph-If-Graph-Commit": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
    assert (answer.status_code, answer.json()["details"]["actual"]) == (412, head)
    answer = client.post(url, json=body, headers={"Omnigraph-If-Graph-Commit": str(head)})
    assert (answer.status_code, answer.json()["affected_nodes"]) == (200, 1)


def test_a_table_that_has_moved_is_told_as_older_clients_read_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: Any, **__: Any) -> None:
        raise og.ExpectedVersionMismatch("moved", table_key="node:N", expected=1, actual=2)

    monkeypatch.setattr(og.Graph, "mutate", lose)
    answer = client.post(f"{BASE}/mutate", json={"query": "query q() { delete N where age = 1 }"})
    assert (answer.status_code, answer.headers["retry-after"]) == (409, "1")
    assert answer.json()["manifest_conflict"] == {"table_key": "node:N", "expected": 1, "actual": 2}


def test_a_blob_of_who_may_change_nothing_is_not_read(graph: og.Graph, tmp_path: Path) -> None:
    rules = read_bundle(
        "version: 1\ngroups: {all: [ada]}\nrules: [{id: a, allow: {actors: {group: all}, actions: [read]}}]\n"
    )
    id = graph.query('query q() { match { $n: N { name: "a" } } return { $n.id } }').scalar()
    config = ServerConfig(
        {"people": graph.uri},
        Tokens((("ada", hashlib.sha256(b"one").digest()),)),
        RequestLimits(load_bytes=10),
        state=tmp_path / "state",
        policies={"people": Gate(rules, "people")},
    )
    with TestClient(create_app(config)) as client:
        answer = client.put(
            f"{BASE}/blob",
            params={"entity": "node", "type": "N", "property": "scan", "id": id},
            content=b"more than ten bytes",  # too large: whoever reads it says so
            headers={"Authorization": "Bearer one"},
        )
    assert (answer.status_code, answer.json()["code"]) == (403, "policy_denied")


def test_every_write_of_a_graph_refuses_readers_and_keeps_a_key_in_its_commit_or_beside_the_server() -> None:
    routes = {
        f"{method} {route.path}": route.terms
        for part in create_app(ServerConfig({})).routes
        for route in getattr(getattr(part, "original_router", None), "routes", ())
        if isinstance(route, EngineRoute) and not route.path.startswith("/lance")
        for method in sorted(route.methods or ())
    }
    writes = {name: terms for name, terms in routes.items() if terms.writes}
    assert {name for name, terms in writes.items() if not terms.refuses_readers} == {
        "POST /queries",
        "POST /queries/{name}/if-graph-commit",
    }
    both = {name for name, terms in writes.items() if terms.repeats_answer and terms.takes_condition}
    neither = {name for name, terms in writes.items() if not (terms.repeats_answer or terms.takes_condition)}
    acts = ("POST /branches/{name:path}/" + word for word in ("rename", "rebase", "restore"))
    assert both == {"DELETE /branches/{name:path}", "DELETE /tags/{name:path}", *acts}
    assert neither == set()
    assert not [name for name, terms in routes.items() if terms.repeats_answer and not terms.writes]
