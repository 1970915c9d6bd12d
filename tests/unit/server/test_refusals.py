"""What is refused before the engine is asked, and how it is told."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.server.answers import choose_format
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens
from omnigraph.server.requests import connections
from omnigraph.wire.media import ARROW, JSON, NDJSON
from support.served_here import serving_here

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

BASE = "/graphs/people"
READ = "query q() { match { $p: Person } return { $p.name } }"
ADD = 'query q() { insert Person { name: "x" } }'
_JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    og.init(folder / "people", "node Person { name: String @key }")
    return folder


def app_of(folder: Path) -> FastAPI:
    return create_app(ServerConfig({"people": str(folder / "people")}, state=folder / "state"))


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(app_of(folder)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "given", "told"),
    [
        ("optimize", {}, "body: it is missing: send a JSON object, {} where nothing need be said"),
        ("mutate", {"json": {}}, "body.query: it is missing"),
        ("load/ndjson", {"content": b""}, "query.mode: it is missing: give it in the address, after the"),
    ],
)
def test_what_is_missing_is_told_with_what_to_do(
    client: TestClient, path: str, given: dict[str, Any], told: str
) -> None:
    answer = client.post(f"{BASE}/{path}", **given)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert answer.json()["error"].startswith(told)


def test_a_slash_too_many_is_told_and_not_led_elsewhere(client: TestClient) -> None:
    answer = client.get(f"{BASE}/", follow_redirects=False)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "body: it is not JSON: Expecting property name enclosed in double quotes, at character 2"),
        ('{"query": "é"}'.encode("latin-1"), "body: it is not UTF-8: invalid continuation byte, at byte 12"),
        (b'{"query": ' + b"[" * 100_000, "body: it is nested too deep"),
        (b'{"query": "q", "timeout": ' + b"9" * 5_000 + b"}", "body: it is not JSON that can be read"),
        (b"[]", "body: it must be a JSON object"),
        (b'{"query": 5}', "body.query: it must be a string"),
        (b'{"query": "q", "params": ["git"]}', "body.params: it must be an object"),
        (b'{"query": "q", "optimise": []}', "body.optimise: it must be true or false"),
        (b'{"query": "q", "limit": 5}', "body.limit: there is no member of this name: /openapi.json"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_what_is_wrong_with_it(
    client: TestClient, body: bytes, told: str
) -> None:
    answer = client.post(f"{BASE}/query", content=body, headers=_JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert answer.json()["error"].startswith(told)


@pytest.mark.parametrize("path", ["query", "mutate", "queries/none", "jobs/optimize"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_that_is_not_said_to_be_json_is_refused(
    client: TestClient, path: str, kind: str | None
) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = client.post(f"{BASE}/{path}", content=json.dumps({"query": READ}).encode(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert "application/json" in answer.json()["error"]


@pytest.mark.parametrize("path", ["query", "load/ndjson?mode=append"])
def test_a_compressed_body_is_refused_by_that_name(client: TestClient, path: str) -> None:
    headers = {**_JSON, "Content-Encoding": "gzip"}
    answer = client.post(f"{BASE}/{path}", content=gzip.compress(b"{}"), headers=headers)
    assert (answer.status_code, answer.json()["details"]) == (415, {"content_encoding": "gzip"})


@pytest.mark.parametrize("member", ["query", "branch"])
def test_half_of_a_surrogate_pair_is_told_back_as_its_escape(client: TestClient, member: str) -> None:
    text = 'query q() { match { $p: Person { name: "\ud800" } } return { $p.name } }'
    body = {"query": text if member == "query" else READ, "branch": "main" if member == "query" else "\ud800"}
    answer = client.post(f"{BASE}/query", content=json.dumps(body).encode(), headers=_JSON)
    assert (answer.status_code, answer.json()["retryable"]) == (400, False)
    assert b"\\ud800" in answer.content


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("POST", "load/ndjson?mode=append&brnach=review", "has no parameter 'brnach': it has branch, "),
        ("GET", "commits?branch=main&page=2", "has no parameter 'page': it has "),
        ("POST", "mutate?branch=review", "has no parameter 'branch': it has none"),
    ],
)
def test_a_misspelt_parameter_is_refused_and_nothing_is_written(
    client: TestClient, method: str, path: str, told: str
) -> None:
    before = client.get(f"{BASE}/snapshot").json()["commit"]
    body: Any = {"json": {"query": ADD}} if "mutate" in path else {"content": b"{}"}
    answer = client.request(method, f"{BASE}/{path}", **(body if method == "POST" else {}))
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert told in answer.json()["error"]
    assert client.get(f"{BASE}/snapshot").json()["commit"] == before


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("*/*", JSON),
        ("text/html", JSON),
        (f"{NDJSON};q=0.1, {JSON}", JSON),
        (f"{NDJSON};q=0, {ARROW};q=0.2", ARROW),
        (f"{NDJSON}, {ARROW}", NDJSON),
        (f"{JSON};q=0.5,{ARROW};v=1;q=0.9", ARROW),
        (f"{NDJSON};q=nonsense", NDJSON),
    ],
)
def test_the_format_that_is_wanted_most_is_chosen(accept: str | None, chosen: str) -> None:
    assert choose_format(accept) == chosen


def test_what_is_not_there_says_where_to_look(client: TestClient) -> None:
    assert client.get(f"{BASE}/nothing").json()["error"] == (
        "there is nothing at /graphs/people/nothing: /openapi.json lists the paths"
    )
    answer = client.get(f"{BASE}/query")
    assert (answer.status_code, answer.json()["error"]) == (
        405,
        "/graphs/people/query has no method GET: use POST",
    )


def test_methods_that_callers_make_up_are_one_to_the_metrics(client: TestClient) -> None:
    for number in range(3):
        assert client.request(f"ODD{number}", f"{BASE}/branches").status_code == 405
    told = client.get("/metrics").text
    assert "ODD" not in told
    assert 'method="other"' in told


def test_a_connection_without_a_request_is_closed_and_one_that_is_no_http_is_told_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_find_limit", lambda: 0.2)
    with serving_here(app_of(folder)) as url:
        host, port = url.removeprefix("http://").split(":")
        for sent in (b"", b"POST /graphs/people/query HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            with socket.create_connection((host, int(port)), timeout=10) as sock:
                sock.sendall(sent)
                assert sock.recv(100) == b""
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(b"nonsense\r\n\r\n")
            answer = b"".join(iter(lambda: sock.recv(65_536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["code"] == "bad_input"


HEAD = b"POST /graphs/people/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
NAMES = b'{"query": "query q() { match { $p: Person } return { $p.name } }"}'
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(NAMES), NAMES)


def answer_to(url: str, pieces: Iterable[bytes]) -> bytes:
    """Return what comes of some bytes until the server closes the connection."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        with suppress(ConnectionError):
            for piece in pieces:
                sock.sendall(piece)
        with suppress(ConnectionError):
            return b"".join(iter(lambda: sock.recv(65_536), b""))
    return b""


def test_what_never_ends_around_a_body_is_not_held(folder: Path) -> None:
    endless = [b"x" * 65_536] * 64
    with serving_here(app_of(folder)) as url:
        for sent in (
            [HEAD, b"X-Long: ", *endless],
            [b"GET /", *endless],
            [HEAD, *(b"X-%d: %b\r\n" % (number, b"x" * 1_000) for number in range(4_096))],
        ):
            # The answer is lost where the connection ends with bytes that nobody has read.
            assert answer_to(url, sent)[:13] in (b"", b"HTTP/1.1 400 ")
        for sent in ([CHUNKED, b"1;", *endless], [CHUNKED, b"0\r\nX-Long: ", *endless]):
            assert answer_to(url, sent) == b""


def test_what_stands_behind_a_body_names_nobody(folder: Path) -> None:
    tokens = Tokens((("ada", sha256(b"secret").digest()),))
    app = create_app(ServerConfig({"people": str(folder / "people")}, tokens))
    with serving_here(app) as url:
        behind = b"0\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n"
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(CHUNKED + behind)
            assert sock.recv(12) == b"HTTP/1.1 401"


def test_a_request_that_asks_for_another_protocol_is_answered_in_this_one(folder: Path) -> None:
    # As the client of Java does with each first request.
    asks = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    whole = HEAD + asks + b"Content-Length: %d\r\n\r\n" % len(NAMES) + NAMES
    last = b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with serving_here(app_of(folder)) as url:
        for size in (1, 100, len(whole)):
            pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
            found = answer_to(url, [*pieces, last])
            assert found.count(b"HTTP/1.1 200 OK") == 2
            assert found.count(b"HTTP/1.1") == 2
        assert answer_to(url, [b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"]).startswith(b"HTTP/1.1 400 ")
