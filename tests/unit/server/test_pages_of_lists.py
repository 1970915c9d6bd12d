"""Lists over HTTP come in pages, and loads and mutations as clients of the first system send them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

SCHEMA = "node N { name: String @key  age: I64? }\nedge K: N -> N"
BASE = "/graphs/people"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("graphs") / "people", SCHEMA)
    nodes = [{"type": "N", "data": {"name": name}} for name in "abcde"]
    graph.load([*nodes, *({"edge": "K", "from": "a", "to": name} for name in "bcde")], mode="append")
    for name in ("zeta", "alpha", "alpha/two"):
        graph.branches.create(name)
        graph.tags.create(f"tag-{name}")
    reads = (f"query {name}() {{ match {{ $n: N }} return {{ $n.name }} }}" for name in ("one", "two", "six"))
    graph.queries.apply({"all.gq": "\n".join(reads)})
    for age in range(3):
        graph.mutate(f'query q() {{ update N set {{ age: {age} }} where name = "a" }}')
    return graph


@pytest.fixture(scope="module")
def client(graph: og.Graph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("server")
    graphs = {"people": graph.uri, "again": graph.uri}
    with TestClient(create_app(ServerConfig(graphs, state=folder))) as client:
        yield client


def walk(client: TestClient, path: str, member: str, **params: Any) -> list[list[Any]]:
    """Return all pages of a list."""
    pages: list[list[Any]] = []
    token = None
    while token is not None or not pages:
        given = params | ({} if token is None else {"page_token": token})
        told = client.get(path, params=given)
        assert told.status_code == 200, told.text
        pages.append(told.json()[member])
        token = told.json()["next_page_token"]
    return pages


@pytest.mark.parametrize(
    ("path", "member", "least", "params"),
    [
        (f"{BASE}/branches", "branches", 4, {}),
        (f"{BASE}/tags", "tags", 3, {}),
        (f"{BASE}/queries", "queries", 3, {}),
        (f"{BASE}/commits", "commits", 5, {}),
        (f"{BASE}/entity/edges", "edges", 4, {"type": "N", "id": "a"}),
        (f"{BASE}/entity/history", "changes", 4, {"type": "N", "id": "a"}),
        ("/graphs", "graphs", 2, {}),
    ],
)
def test_pages_together_are_the_whole_list(
    client: TestClient, path: str, member: str, least: int, params: dict[str, str]
) -> None:
    whole = client.get(path, params=params).json()[member]
    assert len(whole) >= least
    for limit in (1, 2, 100):
        pages = walk(client, path, member, limit=limit, **params)
        assert [item for page in pages for item in page] == whole
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


def test_main_comes_first_and_what_is_made_between_two_pages_moves_nothing(
    client: TestClient, graph: og.Graph
) -> None:
    first = client.get(f"{BASE}/branches?limit=2").json()
    assert first["branches"] == ["main", "alpha"]
    graph.branches.create("aa")
    rest = client.get(f"{BASE}/branches", params={"page_token": first["next_page_token"]}).json()
    assert rest == {"branches": ["alpha/two", "zeta"], "next_page_token": None}
    graph.branches.delete("aa")


@pytest.mark.parametrize("token", ["x", "{}", "[1, 2, 3]", '["a"', "null"])
def test_a_token_that_no_page_gave_is_refused(client: TestClient, token: str) -> None:
    for path in (f"{BASE}/branches", f"{BASE}/tags", f"{BASE}/commits", "/graphs"):
        answer = client.get(path, params={"page_token": token, "limit": 2})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_input"), path


def test_pages_of_an_entity_stay_at_the_commit_of_the_first(client: TestClient, graph: og.Graph) -> None:
    where = {"type": "N", "id": "b", "limit": 1}
    graph.branches.create("moves")
    graph.mutate(
        'query q() { insert K { from: "b", to: "c" } insert K { from: "b", to: "d" } }', branch="moves"
    )
    first = client.get(f"{BASE}/entity/edges", params={**where, "branch": "moves"}).json()
    graph.mutate('query q() { delete K where from = "b" }', branch="moves")
    rest = client.get(f"{BASE}/entity/edges", params={**where, "page_token": first["next_page_token"]}).json()
    assert (rest["commit"], len(rest["edges"])) == (first["commit"], 1)
    both = client.get(
        f"{BASE}/entity/edges", params={**where, "page_token": first["next_page_token"], "skip": 1}
    )
    assert both.status_code == 400


def test_a_load_as_one_string_is_a_load(client: TestClient, graph: og.Graph) -> None:
    line = json.dumps({"type": "N", "data": {"name": "text"}})
    given = {"mode": "append", "data": f"{line}\n", "branch": "texts", "from": "main", "metadata": {"a": "b"}}
    answer = client.post(f"{BASE}/load", json=given, headers={"Idempotency-Key": "k"})
    told = answer.json()
    assert (told["branch"], told["base_branch"], told["total_entities"]) == ("texts", "main", 1)
    assert told["nodes"] == [{"name": "N", "entities_loaded": 1}]
    assert graph.commits.show(told["commit"]).metadata["a"] == "b"
    again = client.post(f"{BASE}/load", json=given, headers={"Idempotency-Key": "k"})
    assert again.json()["commit"] == told["commit"]
    wrong = client.post(f"{BASE}/load", json={"mode": "append", "data": f"{line}\n{{"})
    assert (wrong.status_code, wrong.json()["error"][:9]) == (400, "record 2:")
    lost = client.post(f"{BASE}/load", json={"mode": "append", "data": line, "branch": "none"})
    assert (lost.status_code, lost.json()["code"]) == (404, "not_found")


def test_a_mutation_may_be_named_as_clients_of_the_first_system_name_it(client: TestClient) -> None:
    body = {"query_source": 'query q() { insert N { name: "alias" } }', "query_name": "q", "branch": "zeta"}
    told = client.post(f"{BASE}/mutate", json=body).json()
    assert (told["query_name"], told["branch"], told["affected_nodes"]) == ("q", "zeta", 1)


@pytest.mark.parametrize("token", ["[" * 5_000, '{"a": 1}', "[[1]]", "nonsense"])
def test_a_page_token_that_somebody_has_made_up_is_refused(client: TestClient, token: str) -> None:
    told = client.get(f"{BASE}/branches", params={"limit": 1, "page_token": token})
    assert (told.status_code, told.json()["code"]) == (400, "bad_input")


def test_a_cursor_of_proposals_that_somebody_has_made_up_is_refused(client: TestClient) -> None:
    for text in ("[" * 5_000, '{"01M7": Infinity}', "[1]"):
        cursor = base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()
        told = client.get(f"{BASE}/proposals/events", params={"cursor": cursor})
        assert (told.status_code, told.json()["code"]) == (400, "change_cursor_rejected")
