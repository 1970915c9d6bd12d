"""What the routes answer: shapes, statuses, and what they refuse."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
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

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

SCHEMA = "node Person { name: String @key  age: I64? }\nedge Knows: Person -> Person"
PEOPLE = "query people() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
ADD = "query add($n: String, $a: I64?) { insert Person { name: $n, age: $a } }"
BASE = "/graphs/people"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    og.init(tmp_path / "people", SCHEMA)
    return tmp_path / "people"


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with TestClient(
        create_app(ServerConfig({"people": str(root)}, limits=RequestLimits(2_000, 4_000)))
    ) as client:
        yield client


def add(client: TestClient, name: str, age: int | None = None, **headers: str) -> Any:
    return client.post(
        f"{BASE}/mutate", json={"query": ADD, "params": {"n": name, "a": age}}, headers=headers
    )


def test_rows_come_as_json_with_types_and_large_numbers_as_strings(client: TestClient) -> None:
    commit = add(client, "ada", 2**53 + 1).json()["commit"]
    answer = client.post(f"{BASE}/query", json={"query": PEOPLE})
    assert answer.status_code == 200
    assert answer.json() == {
        "query_name": None,
        "target": {"branch": None, "snapshot": None},
        "row_count": 1,
        "columns": [{"name": "p.name", "type": "String"}, {"name": "p.age", "type": "I64?"}],
        "rows": [{"p.name": "ada", "p.age": "9007199254740993"}],
        "graph_commit_id": commit,
        "engine": "local",
    }
    assert answer.headers["omnigraph-commit"] == commit


def test_rows_come_as_lines_when_they_are_asked_for(client: TestClient) -> None:
    add(client, "ada", 1)
    answer = client.post(
        f"{BASE}/query", json={"query": PEOPLE}, headers={"Accept": "text/html, application/x-ndjson;q=0.9"}
    )
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text == '{"p.name": "ada", "p.age": 1}\n'


def test_a_repeated_request_is_answered_with_the_first_result(client: TestClient) -> None:
    first = add(client, "ada", **{"Idempotency-Key": "k1"}).json()
    again = add(client, "ada", **{"Idempotency-Key": "k1"}).json()
    assert again == first
    assert len(client.get(f"{BASE}/commits").json()["commits"]) == 2


def test_a_write_that_names_another_head_is_refused(client: TestClient) -> None:
    head = add(client, "ada").json()["commit"]
    add(client, "bob")
    answer = add(client, "cyd", **{"Omnigraph-If-Graph-Commit": head})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert add(client, "cyd", **{"Omnigraph-If-Graph-Commit": "*"}).status_code == 400


@pytest.mark.parametrize(
    ("body", "told"),
    [(b"{", "body"), (b"[]", "body"), (b'{"query": 3}', "body.query"), (b'{"query": "x", "z": 1}', "body.z")],
)
def test_a_body_that_is_wrong_is_told_in_our_shape(client: TestClient, body: bytes, told: str) -> None:
    answer = client.post(f"{BASE}/query", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad_input"
    assert answer.json()["details"]["problems"][0]["where"].startswith(told)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/graphs/other/schema", 404),
        ("PUT", "/graphs", 405),
        ("GET", f"{BASE}/commits/zz", 404),
        ("GET", f"{BASE}/commits?page_token=x", 400),
        ("GET", f"{BASE}/commits?limit=0", 400),
        ("DELETE", f"{BASE}/branches/main", 400),
        ("POST", f"{BASE}/load/xml?mode=append", 400),
    ],
)
def test_every_refusal_has_the_one_shape(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, set(answer.json())) == (status, {"error", "code", "retryable", "details"})


def test_bodies_are_bounded(client: TestClient) -> None:
    answer = client.post(f"{BASE}/query", json={"query": "x" * 3_000})
    assert (answer.status_code, answer.json()["code"]) == (413, "resource_limit")
    answer = client.post(f"{BASE}/load/ndjson?mode=append", content=b"x" * 5_000)
    assert (answer.status_code, answer.json()["details"]["limit"]) == (413, 4_000)
    assert client.get(f"{BASE}/commits").json()["commits"][0]["operation"] == "init"


def test_an_error_of_a_load_names_records_and_no_file_of_the_server(client: TestClient) -> None:
    for format, body, told in (
        (
            "ndjson",
            b'{"type": "Person", "data": {"name": "a"}}\n{"type": "Person", "data": {}}\n',
            "record 2: ",
        ),
        ("csv", b"name,age\na,x\n", "line 2"),
    ):
        answer = client.post(
            f"{BASE}/load/{format}?mode=append&type=Person"
            if format == "csv"
            else f"{BASE}/load/{format}?mode=append",
            content=body,
        )
        assert answer.status_code == 400
        assert told in answer.json()["error"], answer.text
        assert "omnigraph-work-" not in answer.text


def test_the_text_of_a_schema_is_never_a_file_of_the_server(client: TestClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret.pg"
    secret.write_text("node Secret { name: String }")
    answer = client.post(f"{BASE}/schema/plan", json={"schema_source": str(secret)})
    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")
    assert "Secret" not in answer.text


def test_commits_come_in_pages_of_the_head_that_the_first_one_saw(client: TestClient) -> None:
    for name in "abc":
        add(client, name)
    first = client.get(f"{BASE}/commits?limit=3").json()
    add(client, "later")
    rest = client.get(f"{BASE}/commits?limit=3&page_token={first['next_page_token']}").json()
    assert [commit["version"] for commit in (*first["commits"], *rest["commits"])] == [4, 3, 2, 1]
    assert rest["next_page_token"] is None


def test_a_graph_that_cannot_be_opened_is_named_and_the_others_are_served(root: Path, tmp_path: Path) -> None:
    config = ServerConfig({"people": str(root), "lost": str(tmp_path / "none")})
    with TestClient(create_app(config)) as client:
        assert client.get("/healthz").json()["quarantined"] == {"lost": "not_a_graph"}
        assert client.get("/graphs").json() == {"graphs": ["people"]}
        assert client.get("/graphs/lost/schema").status_code == 404


def test_a_server_without_any_graph_does_not_start(tmp_path: Path) -> None:
    app = create_app(ServerConfig({"lost": str(tmp_path / "none")}))
    with pytest.raises(og.NotAGraph), TestClient(app):
        pass


def test_the_actor_comes_from_the_token_alone(root: Path) -> None:
    tokens = Tokens((("ada", hashlib.sha256(b"one").digest()),))
    rules = read_bundle(
        "version: 1\ngroups: {all: [ada]}\n"
        "rules: [{id: a, allow: {actors: {group: all}, actions: [read, change]}}]\n"
    )
    config = ServerConfig({"people": str(root)}, tokens, policies={"people": Gate(rules, "people")})
    with TestClient(create_app(config)) as client:
        assert client.get("/healthz").status_code == 200
        for headers in ({}, {"Authorization": "Bearer two"}, {"Authorization": "Basic one"}):
            answer = client.get(f"{BASE}/schema", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert client.get("/graphs/none/schema", headers=headers).status_code == 401
        known = {"Authorization": "Bearer one", "X-Actor-Id": "eve"}
        assert add(client, "x", **known).json()["actor_id"] == "ada"
        assert client.get(f"{BASE}/commits", headers=known).json()["commits"][0]["actor"] == "ada"
