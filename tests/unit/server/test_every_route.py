"""Every route, in every state of a server, for whoever may, may not, is unknown, or comes too late.

The routes are listed from the application: one that is new fails here until it is written down.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.description.describe import EXAMPLES
from omnigraph.server.identity import Tokens
from omnigraph.wire.media import IF_COMMIT_HEADER
from support.described_answers import DescribedAnswers

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:Using `httpx`")]

MARK = "only-for-some"
"""Stands in the data: whoever may not read never sees it."""
NO_COMMIT = "01M70000000000000000000000"
SCHEMA = "node Person { name: String @key  age: I64?  photo: Blob? }\nedge Knows: Person -> Person"
READ = "query people() { match { $p: Person } return { $p.name } }"
ADD = 'query add() { insert Person { name: "new" } }'
GRAPH = "/graphs/{graph}"
ENTITY = {"type": "Person", "id": MARK}
BLOB = {**ENTITY, "property": "photo", "entity": "node"}

Needs = Literal["nothing", "token", "list", "numbers", "read", "condition", "write", "tables"]
"""What a caller needs: `tables` is to read all that is stored, which is a right to read here; `numbers` tell
which graphs there are, where policies say who may know; a `condition` is one that a read does not take."""


@dataclass(frozen=True)
class Route:
    """What a route needs, and a request that is right."""

    needs: Needs
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    path: Mapping[str, str] = field(default_factory=dict)
    is_hidden: bool = False
    """Whether what may not be seen is as if it were not there: 404, or an empty list."""


def reads(body: Any = None, hidden: bool = False, path: Any = None, **params: Any) -> Route:
    return Route("read", params, body, path or {}, hidden)


def writes(body: Any = None, hidden: bool = False, path: Any = None, **params: Any) -> Route:
    return Route("write", params, body, path or {}, hidden)


def example(model: str, **given: Any) -> dict[str, Any]:
    return {**EXAMPLES[model], **given}


PROPOSAL = f"{GRAPH}/proposals/{{id}}"
ROUTES: dict[str, Route] = {
    # What each tool needs is asked when it is called: tests/unit/mcp.
    f"POST {GRAPH}/mcp": Route("token", {}, {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    **dict.fromkeys(
        ("GET /openapi.json", "HEAD /openapi.json", "GET /healthz", "GET /readyz"), Route("nothing")
    ),
    **dict.fromkeys(("GET /ui/{place:path}", "GET /ui", "GET /", "GET /favicon.svg"), Route("nothing")),
    "GET /assets/{name}": Route("nothing"),
    "GET /graphs": Route("list"),
    "GET /metrics": Route("numbers"),
    f"GET {GRAPH}": reads(),
    f"GET {GRAPH}/access": reads(),
    f"GET {GRAPH}/tables": reads(),
    f"POST {GRAPH}/query": reads({"query": READ}),
    f"POST {GRAPH}/explain": reads({"query": READ, "analyze": True}),
    f"GET {GRAPH}/snapshot": reads(),
    f"POST {GRAPH}/export/types": reads({}),
    f"POST {GRAPH}/export": Route("write", {}, {}),
    f"POST {GRAPH}/mutate": writes({"query": ADD}),
    f"POST {GRAPH}/load/{{format}}": writes(b'{"type": "Person", "data": {"name": "x"}}', mode="merge"),
    f"POST {GRAPH}/mutate/if-graph-commit": writes({"query": ADD}),
    f"POST {GRAPH}/load": writes(example("LoadBody")),
    f"GET {GRAPH}/queries": reads(hidden=True),
    f"GET {GRAPH}/queries/{{name}}": Route("read", path={"name": "people"}, is_hidden=True),
    f"POST {GRAPH}/queries": writes(example("QueriesBody")),
    f"POST {GRAPH}/queries/{{name}}": Route("read", {}, {}, {"name": "people"}, is_hidden=True),
    f"POST {GRAPH}/queries/{{name}}/if-graph-commit": Route("condition", {}, {}, {"name": "people"}, True),
    f"GET {GRAPH}/branches": reads(hidden=True),
    f"POST {GRAPH}/branches": writes(example("BranchBody")),
    f"POST {GRAPH}/branches/merge": writes({"source": "open", "target": "main"}),
    f"GET {GRAPH}/branches/{{name:path}}/info": reads(),
    f"POST {GRAPH}/branches/{{name:path}}/rename": writes({"name": "other"}, path={"name": "spare"}),
    f"POST {GRAPH}/branches/{{name:path}}/reset": writes({"commit": "HEAD~1"}, path={"name": "spare"}),
    f"POST {GRAPH}/branches/{{name:path}}/rebase": writes({"onto": "main"}, path={"name": "open"}),
    f"PUT {GRAPH}/branches/{{name:path}}/protection": writes({"approvals": 1}, path={"name": "open"}),
    f"DELETE {GRAPH}/branches/{{name:path}}/protection": writes(path={"name": "open"}),
    f"POST {GRAPH}/branches/{{name:path}}/restore": writes(path={"name": "spare"}),
    f"DELETE {GRAPH}/branches/{{name:path}}": writes(path={"name": "spare"}),
    f"GET {GRAPH}/tags": reads(hidden=True),
    f"POST {GRAPH}/tags": writes(example("TagBody", name="v2")),
    f"DELETE {GRAPH}/tags/{{name:path}}": writes(path={"name": "v1"}),
    f"GET {GRAPH}/commits": reads(),
    f"POST {GRAPH}/commits/revert": writes({"actor": "nobody"}),
    f"GET {GRAPH}/commits/{{commit}}": reads(),
    f"GET {GRAPH}/commits/{{commit}}/changes": reads(),
    f"POST {GRAPH}/commits/{{commit}}/revert": writes({}),
    f"POST {GRAPH}/commits/{{commit}}/cherry-pick": writes({"branch": "open"}),
    f"GET {GRAPH}/diff": Route("read", {"from": "HEAD~1", "to": "main"}),
    f"GET {GRAPH}/diff/summary": Route("read", {"from": "HEAD~1", "to": "main"}),
    f"GET {GRAPH}/changes": reads(start="beginning"),
    f"POST {GRAPH}/changes/baseline": writes(),
    f"POST {GRAPH}/changes/apply": writes(
        {"parts": [{"schema": None, "changes": [1], "cause": {"graph_commit_id": "x"}, "offset": 0}]}
    ),
    **{f"{method} {GRAPH}/blob": reads(**BLOB) for method in ("GET", "HEAD")},
    f"GET {GRAPH}/blob/info": reads(**BLOB),
    f"PUT {GRAPH}/blob": writes(b"new", **BLOB),
    f"DELETE {GRAPH}/blob": writes(**BLOB),
    **{f"GET {GRAPH}/entity{part}": reads(**ENTITY) for part in ("", "/edges", "/history", "/blame")},
    f"POST {GRAPH}/entities/combine": writes({"type": "Person", "keep": "first", "drop": [MARK]}),
    f"GET {GRAPH}/entities/same": reads(type="Person", on="name"),
    f"POST {GRAPH}/entity/reset": writes({"revision": "HEAD~1"}, **ENTITY),
    f"GET {GRAPH}/schema": reads(),
    f"POST {GRAPH}/schema/plan": reads(example("SchemaBody")),
    f"POST {GRAPH}/schema/apply": writes(example("SchemaBody")),
    **{f"POST {GRAPH}/{word}": writes({}) for word in ("optimize", "embed", "repair")},
    f"POST {GRAPH}/cleanup": writes({"dry_run": True}),
    f"POST {GRAPH}/jobs/load": writes(b"", format="ndjson", mode="merge"),
    f"POST {GRAPH}/jobs/{{kind}}": writes({}),
    f"GET {GRAPH}/pipelines": reads(hidden=True),
    f"POST {GRAPH}/pipelines/{{name}}": writes(hidden=True),
    f"GET {GRAPH}/jobs": reads(hidden=True),
    f"GET {GRAPH}/jobs/{{id}}": reads(hidden=True),
    f"POST {GRAPH}/jobs/{{id}}/cancel": writes(hidden=True),
    f"GET {GRAPH}/jobs/{{id}}/events": reads(hidden=True),
    f"POST {GRAPH}/proposals": writes({"source": "open", "into": "main", "title": "more"}),
    f"GET {GRAPH}/proposals": reads(hidden=True),
    f"GET {GRAPH}/proposals/events": reads(hidden=True),
    f"GET {PROPOSAL}": reads(hidden=True),
    f"GET {PROPOSAL}/mergeable": reads(hidden=True),
    f"POST {PROPOSAL}/comments": writes({"text": "no"}, hidden=True),
    f"POST {PROPOSAL}/approve": writes({}, hidden=True),
    f"POST {PROPOSAL}/request-changes": writes({"text": "no"}, hidden=True),
    f"PUT {PROPOSAL}/resolutions": writes({"resolutions": []}, hidden=True),
    **{f"POST {PROPOSAL}/{word}": writes({}, hidden=True) for word in ("merge", "close", "reopen")},
    "GET /lance/v1/namespace/{id:path}/table/list": Route("tables", path={"id": "people$main"}),
    "GET /lance/v1/namespace/{id:path}/list": Route("tables", path={"id": "people"}, is_hidden=True),
    **{
        f"POST /lance/v1/namespace/{{id:path}}/{word}": Route("tables", {}, {}, {"id": "people$main"})
        for word in ("describe", "exists")
    },
    **{
        f"POST /lance/v1/table/{{id:path}}/{word}": Route("tables", {}, {}, {"id": "people$main$node:Person"})
        for word in ("version/list", "version/describe", "describe", "exists", "count_rows")
    },
    **{f"{word} /lance/v1/{{rest:path}}": Route("token") for word in ("DELETE", "GET", "POST", "PUT")},
}
PATH = {
    "graph": "people",
    "commit": "HEAD",
    "format": "ndjson",
    "kind": "optimize",
    "name": "main",
    "id": "x",
}
RULES = """
version: 1
groups: {readers: [reader], owners: [owner]}
rules:
  - {id: readers, allow: {actors: {group: readers}, actions: [read, invoke_query]}}
  - id: owners
    allow:
      actors: {group: owners}
      actions:
        [read, export, change, schema_apply, branch_create, branch_delete, branch_merge, admin, propose,
         approve, invoke_query]
"""
LISTING = """
version: 1
groups: {staff: [reader, owner]}
rules: [{id: list, allow: {actors: {group: staff}, actions: [graph_list]}}]
"""
STATES = ("open", "default_deny", "policy_enabled")
ACTORS = ("owner", "reader", "denied")
STRANGERS = {
    "nobody": {},
    "unknown": {"Authorization": "Bearer token-of-somebody"},
    "expired": {"Authorization": "Bearer token-of-expired"},
    "blank": {"Authorization": "Bearer "},
    "another scheme": {"Authorization": "Basic token-of-owner"},
    "a name": {"X-Actor-Id": "owner", "Omnigraph-Actor": "owner"},
}


@pytest.fixture(scope="module")
def described() -> DescribedAnswers:
    return DescribedAnswers()


@contextmanager
def serving(folder: Path, state: str) -> Iterator[TestClient]:
    """Serve a graph with all that routes ask for, in one of the states."""
    graph = og.init(folder / "people", SCHEMA, actor="owner")
    graph.load([{"type": "Person", "data": {"name": "first"}}], mode="append")
    graph.branches.create("open")
    graph.branches.create("spare")
    graph.tags.create("v1")
    photo = {"name": MARK, "photo": "base64:AAEC"}
    graph.load([{"type": "Person", "data": photo}], mode="append", message=MARK)
    graph.queries.apply({"people.gq": READ})
    names = () if state == "open" else (*ACTORS, "expired")
    hashes = tuple((name, hashlib.sha256(f"token-of-{name}".encode()).digest()) for name in names)
    tokens = Tokens(hashes, tuple(1.0 if name == "expired" else None for name in names))
    policies = {"people": Gate(read_bundle(RULES, "graph"), "people")} if state == "policy_enabled" else {}
    listing = Gate(read_bundle(LISTING, "server"), "root") if policies else None
    config = ServerConfig(
        {"people": graph.uri}, tokens, state=folder / "state", policies=policies, server_policy=listing
    )
    with TestClient(create_app(config), raise_server_exceptions=False) as client:
        yield client


def list_routes(found: Any, prefix: str = "") -> Iterator[str]:
    """Return the routes of an application: methods and paths."""
    for route in found:
        if hasattr(route, "original_router"):
            inner = prefix + (route.include_context.prefix or "")
            yield from list_routes(route.original_router.routes, inner)
        elif hasattr(route, "methods"):
            yield from (f"{method} {prefix}{route.path}" for method in route.methods)
        else:
            yield f"{type(route).__name__} {prefix}{route.path}"


def ask(client: TestClient, name: str, headers: Mapping[str, str], state: str = "") -> httpx.Response:
    """Send a request that is right to a route."""
    route, (method, path) = ROUTES[name], name.split(" ")
    for part, value in {**PATH, **route.path}.items():
        for spelling in (f"{{{part}}}", f"{{{part}:path}}"):
            path = path.replace(spelling, quote(value, safe="$:"))
    path = path.replace("{place:path}", "x").replace("{rest:path}", "other")
    given: dict[str, Any] = {"params": route.params, "headers": dict(headers)}
    if path.endswith("/if-graph-commit"):
        given["headers"][IF_COMMIT_HEADER] = NO_COMMIT
    if isinstance(route.body, bytes):
        given["content"] = route.body
    elif route.body is not None:
        given["json"] = route.body
    found: httpx.Response = client.request(method, path, **given)
    return found


def test_who_may_not_know_the_graphs_gets_no_numbers_of_them(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", SCHEMA)
    tokens = Tokens((("owner", hashlib.sha256(b"t").digest()),))
    policies = {"people": Gate(read_bundle(RULES, "graph"), "people")}
    config = ServerConfig({"people": graph.uri}, tokens, state=tmp_path / "s", policies=policies)
    with TestClient(create_app(config), headers={"Authorization": "Bearer t"}) as client:
        assert client.get("/metrics").status_code == 403


def test_an_owner_is_told_who_may_do_what_and_a_reader_only_of_himself(tmp_path: Path) -> None:
    with serving(tmp_path, "policy_enabled") as client:

        def ask_as(actor: str) -> dict[str, list[str]]:
            headers = {"Authorization": f"Bearer token-of-{actor}"}
            told = client.get("/graphs/people/access", headers=headers).json()
            assert told["state"] == "policy_enabled"
            return {item["actor"]: item["branches"]["main"] for item in told["actors"]}

        assert ask_as("reader") == {"reader": ["invoke_query", "read"]}
        rights = ask_as("owner")
        assert rights["reader"] == ["invoke_query", "read"]
        assert "branch_merge" in rights["owner"]
    with serving(tmp_path / "other", "open") as client:
        (told,) = client.get("/graphs/people/access").json()["actors"]
        assert (told["actor"], "change" in told["branches"]["main"]) == (None, True)


def test_every_route_is_written_down(tmp_path: Path) -> None:
    with serving(tmp_path, "open") as client:
        app = client.app
        assert isinstance(app, FastAPI)
        assert set(list_routes(app.routes)) == set(ROUTES)


@pytest.mark.parametrize("state", STATES)
def test_who_has_no_token_that_holds_gets_nothing_but_what_is_everybodys(tmp_path: Path, state: str) -> None:
    with serving(tmp_path, state) as client:
        for name, route in ROUTES.items():
            for who, headers in STRANGERS.items():
                answer = ask(client, name, headers)
                if state == "open" or route.needs == "nothing":
                    assert answer.status_code not in (401, 403), (name, who, answer.text)
                    continue
                assert answer.status_code == 401, (name, who, answer.text)
                assert MARK not in answer.text and answer.headers["www-authenticate"] == "Bearer", name
                if answer.text:
                    assert answer.json()["code"] in ("unauthorized", 16), (name, answer.text)


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("state", ["default_deny", "policy_enabled"])
def test_who_has_a_token_does_what_the_state_and_the_policy_allow(
    tmp_path: Path, described: DescribedAnswers, state: str, actor: str
) -> None:
    """Reads come before writes, so that what an owner removes is there to be read."""
    headers = {"Authorization": f"Bearer token-of-{actor}"}
    with serving(tmp_path, state) as client:
        for name in sorted(ROUTES, key=lambda item: ROUTES[item].needs == "write"):
            route, answer = ROUTES[name], ask(client, name, headers)
            _check_described(described, answer)
            refused = answer.status_code == 401 or (
                answer.status_code == 403 and (not answer.text or _code(answer) in ("policy_denied", 15))
            )
            if may_do(route, state, actor):
                assert not refused, (name, answer.text)
                if route.needs in ("read", "tables", "list") and not route.is_hidden:
                    assert answer.status_code == 200, (name, answer.text)
                continue
            assert MARK not in answer.text, (name, answer.text)
            if not route.is_hidden:
                assert refused, (name, answer.status_code, answer.text)
            elif not refused:
                assert answer.status_code == 404 or _is_empty(answer.json()), (name, answer.text)
        if may_do(writes(), state, actor):
            assert described.operations - {name for name, _ in described.seen} == set()
        else:
            folder = tmp_path / "people"
            found = og.open(folder)
            assert len(found.commits.list()) == 4 and found.branches.list() == ["main", "open", "spare"]


def _check_described(described: DescribedAnswers, answer: httpx.Response) -> None:
    method, path = answer.request.method, answer.request.url.path
    if described.describes(method, path):
        kind = answer.headers.get("content-type")
        described.check(method, path, answer.status_code, kind, answer.content)


def may_do(route: Route, state: str, actor: str) -> bool:
    """Return whether an actor may use a route."""
    if route.needs in ("nothing", "token"):
        return True
    if state == "default_deny":
        return route.needs in ("read", "tables", "numbers", "condition") and not _is_stored_query(route)
    if route.needs == "write":
        return actor == "owner"
    return actor in ("owner", "reader")


def _is_stored_query(route: Route) -> bool:
    return route.path.get("name") == "people"


def _code(answer: httpx.Response) -> Any:
    return answer.json().get("code")


def _is_empty(told: Any) -> bool:
    return isinstance(told, dict) and not any(told[name] for name in told if not name.endswith("cursor"))


DODGES = (
    *(
        "main",
        " main ",
        "main ",
        "\tmain",
        "\u2003main",
        "MAIN",
        "Main",
        "ｍａｉｎ",
        "mаin",
        "ma\u200bin",
        "main\u0301",
    ),
    *(
        "main%20",
        "%6dain",
        "main/",
        "/main",
        "./main",
        "main\0",
        "main~0",
        "main~1",
        "branch:main",
        "HEAD",
        "tag:v9",
    ),
    *("v9", "main@{2100-01-01}", "refs/heads/main", "main\n"),
)
RESTRICTED = """
version: 1
groups: {visitors: [visitor]}
protected_branches: [main]
rules:
  - id: elsewhere
    allow: {actors: {group: visitors}, actions: [read, export, change], branch_scope: unprotected}
"""


@pytest.mark.parametrize("sends", ["branch", "snapshot"])
def test_no_spelling_of_a_name_dodges_the_policy(tmp_path: Path, sends: str) -> None:
    """Whatever it is called: what only a protected branch has is neither told nor changed."""
    graph = og.init(tmp_path / "people", SCHEMA)
    graph.branches.create("open")
    graph.load([{"type": "Person", "data": {"name": MARK, "photo": "base64:AAEC"}}], mode="append")
    graph.tags.create("v9")
    head = graph.commits.list()[0].id
    tokens = Tokens((("visitor", hashlib.sha256(b"t").digest()),))
    gate = Gate(read_bundle(RESTRICTED, "graph"), "people")
    config = ServerConfig({"people": graph.uri}, tokens, state=tmp_path / "s", policies={"people": gate})
    base = "/graphs/people"
    with TestClient(create_app(config), headers={"Authorization": "Bearer t"}) as client:
        for name in (*DODGES, head, head[:12]):
            at, place = {sends: name}, quote(name, safe="")
            answers = [
                client.post(f"{base}/query", json={"query": READ, **at}),
                client.post(f"{base}/explain", json={"query": READ, "analyze": True, **at}),
                client.post(f"{base}/export", json=at),
                client.get(f"{base}/snapshot", params=at),
                client.get(f"{base}/schema", params=at),
                client.get(f"{base}/commits", params={"branch": name}),
                client.get(f"{base}/commits/{place}/changes"),
                client.get(f"{base}/diff", params={"from": "open", "to": name}),
                client.get(f"{base}/changes", params={"branch": name, "start": "beginning"}),
                client.get(f"{base}/entity", params={**ENTITY, **at}),
                client.get(f"{base}/blob", params={**BLOB, **at}),
                client.get(f"/lance/v1/namespace/people${place}/table/list"),
                client.post(f"/lance/v1/table/people${place}$node:Person/count_rows", json={}),
                client.post(f"{base}/branches/merge", json={"source": name, "target": "open"}),
                client.post(f"{base}/branches", json={"name": "mine", "from": name}),
            ]
            for number, answer in enumerate(answers):
                told = answer.text.replace(quote(MARK), "")
                assert f'"{MARK}"' not in told.replace(f"the id '{MARK}'", ""), (name, number, answer.text)
                if answer.request.url.path.endswith("count_rows") and answer.status_code == 200:
                    assert answer.json() == 0, name
                if answer.request.url.path.endswith("/blob"):
                    assert answer.status_code in (400, 403, 404), (name, answer.status_code)
            if sends == "branch":
                client.post(f"{base}/mutate", json={"query": ADD, **at})
                client.post(
                    f"{base}/load/ndjson",
                    params={"mode": "append", **at},
                    content=json.dumps({"type": "Person", "data": {"name": "smuggled"}}),
                )
    assert [row["p.name"] for row in graph.query(READ).rows] == [MARK]
    assert graph.branches.list() == ["main", "open"]
