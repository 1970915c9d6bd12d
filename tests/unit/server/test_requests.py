"""What surrounds a request: its end when the client goes, deadlines, streams, bodies, admission, the log."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import Response

import omnigraph as og
from omnigraph.base.errors import NotFound
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.limits import RequestLimits
from omnigraph.server.requests import connections
from omnigraph.server.requests.engine_pool import EnginePool
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.streams import StreamedAnswer, join_lines
from support.served_here import serving_here, wait_until

LONG = (
    "query long() { match { $a: N  $a k $b  $b k $c  $c k $d  $d k $e } "
    "return { $a.name, count(distinct $e) as n } order { $a.name } }"
)
"""Takes half a minute, with checkpoints all the way."""
ADD = "query add($n: String) { insert N { name: $n } }"


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "people"
    graph = og.init(path, "node N { name: String @key }\nedge K: N -> N")
    names = [f"{number:05}" for number in range(3_000)]
    nodes = [{"type": "N", "data": {"name": name}} for name in names]
    edges = [
        {"edge": "K", "from": name, "to": names[(at * 7 + step) % len(names)]}
        for at, name in enumerate(names)
        for step in range(20)
    ]
    graph.load([*nodes, *edges], mode="append")
    return path


def app_of(root: Path, **limits: Any) -> FastAPI:
    return create_app(ServerConfig({"people": str(root)}, limits=RequestLimits(**limits)))


def pool_of(app: FastAPI) -> EnginePool:
    found = app.state.pool
    assert isinstance(found, EnginePool)
    return found


def test_a_client_that_goes_away_stops_its_query(root: Path) -> None:
    app = app_of(root)
    with serving_here(app) as url:
        with pytest.raises(httpx.ReadTimeout), httpx.Client(timeout=httpx.Timeout(10, read=0.3)) as client:
            client.post(f"{url}/graphs/people/query", json={"query": LONG})
        wait_until(lambda: pool_of(app).running["read"] == 0, seconds=15)


def test_a_deadline_is_passed_down_to_the_engine(root: Path) -> None:
    with serving_here(app_of(root)) as url:
        answer = httpx.post(
            f"{url}/graphs/people/query",
            json={"query": LONG},
            headers={"Omnigraph-Timeout": "0.05"},
            timeout=60,
        )
        assert (answer.status_code, answer.json()["details"]["resource"]) == (413, "request_seconds")
        answer = httpx.get(f"{url}/graphs/people/branches", headers={"Omnigraph-Timeout": "soon"})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")


def test_a_deadline_of_the_server_is_the_longest(root: Path) -> None:
    with serving_here(app_of(root, request_seconds=0.05)) as url:
        answer = httpx.post(
            f"{url}/graphs/people/query",
            json={"query": LONG},
            headers={"Omnigraph-Timeout": "50"},
            timeout=60,
        )
        assert answer.json()["details"]["limit"] == 0.05


class Pieces:
    """Pieces that count themselves."""

    def __init__(self, count: int, fails_at: int | None = None) -> None:
        self.count, self.fails_at = count, fails_at
        self.made = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            while self.made < self.count:
                if self.made == self.fails_at:
                    raise NotFound("it is not there")
                self.made += 1
                yield bytes(1024 * 1024)
        finally:
            self.closed = True


def app_with(root: Path, pieces: Pieces, **limits: Any) -> FastAPI:
    app = app_of(root, **limits)
    router = APIRouter(route_class=EngineRoute)

    @router.get("/pieces")
    def send() -> Response:
        return StreamedAnswer(pieces, "application/octet-stream")

    app.include_router(router)
    return app


def test_a_stream_makes_no_more_than_its_client_takes_and_leaves_one_that_takes_nothing(root: Path) -> None:
    pieces = Pieces(1_000)
    app = app_with(root, pieces, stall_seconds=0.5)
    with serving_here(app) as url, httpx.stream("GET", f"{url}/pieces") as answer:
        assert answer.status_code == 200
        wait_until(lambda: pieces.closed)
        assert pieces.made < 50
        assert pool_of(app).admission.streams == 0


def test_the_connection_of_a_client_that_takes_nothing_ends(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_find_limit", lambda: 0.2)
    lost, end = threading.Event(), connections.PatientConnection.connection_lost

    def note(self: connections.PatientConnection, error: Exception | None) -> None:
        end(self, error)
        lost.set()

    monkeypatch.setattr(connections.PatientConnection, "connection_lost", note)
    pieces = Pieces(1_000)
    with serving_here(app_with(root, pieces, stall_seconds=0.2)) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(b"GET /pieces HTTP/1.1\r\nHost: x\r\n\r\n")
            wait_until(lambda: pieces.closed)
            assert lost.wait(20), "what waits to be sent must not be waited for"


def test_an_error_before_the_first_piece_is_an_answer_and_one_after_it_breaks_the_connection(
    root: Path,
) -> None:
    with serving_here(app_with(root, Pieces(3, fails_at=0))) as url:
        assert httpx.get(f"{url}/pieces").status_code == 404
    pieces = Pieces(3, fails_at=2)
    with serving_here(app_with(root, pieces)) as url:
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{url}/pieces")
        assert pieces.closed
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_a_client_that_leaves_a_stream_ends_it(root: Path) -> None:
    pieces = Pieces(1_000)
    with serving_here(app_with(root, pieces)) as url:
        with httpx.stream("GET", f"{url}/pieces") as answer:
            next(answer.iter_bytes())
        wait_until(lambda: pieces.closed)


def test_a_body_that_comes_byte_by_byte_has_an_end(root: Path) -> None:
    app = app_of(root, stall_seconds=0.3, body_pace=1_000)
    with serving_here(app) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        for path, is_kept in (("query", False), ("load/ndjson?mode=append", True)):
            with socket.create_connection((host, int(port)), timeout=30) as client:
                head = f"POST /graphs/people/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
                client.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
                client.setblocking(False)
                sent, answer, pause = 0, b"", threading.Event()
                while not answer and sent < 1_000:
                    client.sendall(b" ")
                    sent += 1
                    pause.wait(0.02)
                    with suppress(BlockingIOError):
                        answer = client.recv(100_000)
            assert b" 413 " in answer and b'"body_pace"' in answer, (path, is_kept, answer)
        assert pool_of(app).running == Counter({"read": 0, "write": 0}) or not +pool_of(app).running


def test_a_body_in_time_may_stop_now_and_then(root: Path) -> None:
    app = app_of(root, stall_seconds=0.5, body_pace=1_000)
    text = json.dumps({"query": "query q() { match { $n: N } return { count($n) as n } }"}).encode()

    def parts() -> Iterator[bytes]:
        yield text + b" " * 2_000
        for _ in range(6):
            threading.Event().wait(0.2)
            yield b" " * 300

    with serving_here(app) as url:
        headers = {"Content-Type": "application/json"}
        answer = httpx.post(f"{url}/graphs/people/query", content=parts(), headers=headers)
        assert answer.status_code == 200, answer.text


def test_there_are_only_so_many_streams(root: Path) -> None:
    app = app_with(root, Pieces(1), streams=1)
    with serving_here(app) as url:
        pool_of(app).admission.begin_stream()
        answer = httpx.get(f"{url}/pieces")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["details"] == {"resource": "streams", "limit": 1}
        pool_of(app).admission.end_stream()
        assert httpx.get(f"{url}/pieces").status_code == 200


def test_an_actor_has_only_so_many_writes_at_once(root: Path) -> None:
    app = app_of(root, actor_requests=1)
    with serving_here(app) as url:
        body = {"query": ADD, "params": {"n": "one too many"}}
        with pool_of(app).admission.admit(None, 10):
            answer = httpx.post(f"{url}/graphs/people/mutate", json=body)
            assert httpx.post(f"{url}/graphs/people/explain", json={"query": LONG}).status_code == 200
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["code"] == "too_many_requests"
        assert httpx.post(f"{url}/graphs/people/mutate", json=body).status_code == 200


def test_the_bytes_of_an_actors_writes_are_counted(root: Path) -> None:
    app = app_of(root, actor_bytes=100)
    with serving_here(app) as url:
        with pool_of(app).admission.admit(None, 90):
            body = {"query": ADD, "params": {"n": "bytes"}}
            answer = httpx.post(f"{url}/graphs/people/mutate", json=body)
        assert answer.json()["details"]["resource"] == "actor_bytes"


def test_no_path_escapes_the_limit_of_bodies(root: Path) -> None:
    with serving_here(app_of(root, body_bytes=1_000)) as url:
        for path in ("branches/a/load/b/reset", "load/x/query", "tags"):
            answer = httpx.post(f"{url}/graphs/people/{path}", content=b" " * 2_000)
            assert answer.status_code in (404, 413), path
            assert answer.json()["code"] in ("not_found", "resource_limit")
        answer = httpx.post(f"{url}/graphs/people/branches/a/load/b/reset", content=b" " * 2_000)
        assert answer.status_code == 413


def test_a_body_of_many_small_pieces_takes_no_more_than_its_bytes(root: Path) -> None:
    with serving_here(app_of(root)) as url:
        text = json.dumps({"query": LONG}).encode()
        answer = httpx.post(
            f"{url}/graphs/people/explain",
            content=(text[at : at + 1] for at in range(len(text))),
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 200


def test_a_load_whose_client_goes_in_the_middle_of_its_body_changes_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    head = og.open(root).snapshot().commit_id
    app = app_of(root)
    with serving_here(app) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as sock:
            sock.sendall(
                b"POST /graphs/people/load/ndjson?mode=append HTTP/1.1\r\n"
                b"Host: x\r\nContent-Length: 1000\r\n\r\n"
                + json.dumps({"type": "N", "data": {"name": "half"}}).encode()
                + b"\n"
            )
            wait_until(lambda: list(tmp_path.glob("omnigraph-work-*/load-*/*")) != [])
        wait_until(lambda: list(tmp_path.glob("omnigraph-work-*/load-*")) == [])
    assert og.open(root).snapshot().commit_id == head


def test_a_client_that_stops_in_the_middle_of_its_body_is_left(root: Path) -> None:
    with serving_here(app_of(root, stall_seconds=0.2)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(b"POST /graphs/people/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            answer = b"".join(iter(lambda: sock.recv(65_536), b""))
        assert b"413" in answer
        assert b"stall_seconds" in answer


def test_a_result_too_large_for_json_is_refused_and_told_what_to_ask_for(root: Path) -> None:
    body = {"query": "query all() { match { $n: N } return { $n.name } }"}
    with serving_here(app_of(root, answer_bytes=1_000)) as url:
        answer = httpx.post(f"{url}/graphs/people/query", json=body)
        assert (answer.status_code, answer.json()["details"]["resource"]) == (413, "answer_bytes")
        accept = {"Accept": "application/x-ndjson"}
        lines = httpx.post(f"{url}/graphs/people/query", json=body, headers=accept).text
        assert len(lines.splitlines()) >= 3_000


def test_lines_are_sent_many_at_once() -> None:
    pieces = list(join_lines((f"{number}\n" for number in range(10_000)), 1_000))
    assert b"".join(pieces) == b"".join(f"{number}\n".encode() for number in range(10_000))
    assert max(map(len, pieces)) < 1_010


def test_a_request_has_an_id_and_a_line_in_the_log_without_what_it_says(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "omnigraph.server.requests")
    with serving_here(app_of(root)) as url:
        answer = httpx.post(
            f"{url}/graphs/people/mutate",
            json={"query": ADD, "params": {"n": "secret name"}},
            headers={"X-Request-Id": "from-the-client", "Authorization": "Bearer hidden"},
        )
        assert answer.headers["x-request-id"] == "from-the-client"
        other = httpx.get(f"{url}/healthz", headers={"X-Request-Id": "<script>"})
        assert len(other.headers["x-request-id"]) == 26
    facts = next(
        record.__dict__["facts"] for record in caplog.records if "mutate" in str(record.__dict__.get("facts"))
    )
    assert facts["request_id"] == "from-the-client"
    assert (facts["status"], facts["graph"], facts["route"]) == (200, "people", "/graphs/{graph}/mutate")
    assert facts["storage"]["objects.create"] >= 1
    assert facts["commit"] == answer.json()["commit"]
    assert "secret" not in str(facts)
    assert "hidden" not in str(facts)
