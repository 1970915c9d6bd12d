"""Many clients of a server with two workers, one of which is killed: what was acknowledged is there, once.

Seconds in `make test`, minutes with `OMNIGRAPH_SERVER_LOAD_SECONDS=600 pytest -s` and this file.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psutil
import pytest

import omnigraph as og
from support.served import TOKENS, Served, running_server

pytestmark = pytest.mark.long

SECONDS = float(os.environ.get("OMNIGRAPH_SERVER_LOAD_SECONDS", "5"))
CLIENTS = 64
STALLED = 8
SCHEMA = "node Person { name: String @key  payload: String? }"
ADD = "query add($n: String, $p: String) { insert Person { name: $n, payload: $p } }"
COUNT = "query n() { match { $p: Person } return { count($p) as n } }"
LAST_CHUNK = b"0\r\n\r\n"
RESIDENT_BYTES = 1_500_000_000
"""What a worker may hold, whatever its clients do."""
EXPECTED = {"too_many_requests", "contention", "unavailable", "expected_version_mismatch"}
"""Errors that a client may see while a worker dies and others write; each says that it helps to try again."""


@dataclass
class Load:
    """What the clients were told."""

    url: str
    headers: dict[str, str]
    until: float
    written: dict[str, str] = field(default_factory=dict)
    """Commits by the name of the person that they added."""
    unknown: set[str] = field(default_factory=set)
    """Names whose write was sent and never answered."""
    errors: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_over: threading.Event = field(default_factory=threading.Event)
    sipping: dict[Thread, int] = field(default_factory=dict)
    """Ports of those who take an answer a byte at a time and have its beginning."""
    is_slow_over: threading.Event = field(default_factory=threading.Event)
    """Those who send or take a byte at a time go on until the server has had time to leave each."""

    @property
    def goes_on(self) -> bool:
        return not self.is_over.is_set()

    def wait_for(self, writes: int, moment: float) -> None:
        """Wait until so many writes are acknowledged, and for a moment of the run."""
        while (len(self.written) < writes or time.monotonic() < moment) and time.monotonic() < self.until:
            self.is_over.wait(0.05)


def write(load: Load, number: int) -> None:
    """Add people, each under a key of its own, sent again until it is acknowledged."""
    count = 0
    with httpx.Client(headers=load.headers, timeout=60) as client:
        while load.goes_on:
            name = f"{number}-{count}"
            body = {"query": ADD, "params": {"n": name, "p": "x" * 2_000}}
            load.unknown.add(name)
            while True:
                try:
                    answer = client.post(f"{load.url}/mutate", json=body, headers={"Idempotency-Key": name})
                except httpx.TransportError:
                    with load.lock:
                        load.errors["connection"] += 1
                    continue
                if answer.status_code == 200:
                    with load.lock:
                        load.written[name] = answer.json()["commit"]
                        load.unknown.discard(name)
                    break
                told = answer.json()
                with load.lock:
                    load.errors[told["code"]] += 1
                    if told["code"] not in EXPECTED or not told["retryable"]:
                        load.wrong.append(answer.text)
                        return
                if load.is_over.wait(float(answer.headers["retry-after"])):
                    return
            count += 1


def read(load: Load, number: int) -> None:
    """Count people: never fewer than were acknowledged before the question."""
    with httpx.Client(headers=load.headers, timeout=60) as client:
        while load.goes_on:
            with load.lock:
                least = len(load.written)
            try:
                answer = client.post(f"{load.url}/query", json={"query": COUNT})
            except httpx.TransportError:
                continue
            with load.lock:
                load.reads += 1
                if answer.status_code != 200 or answer.json()["rows"][0]["n"] < least:
                    load.wrong.append(f"{least} were written: {answer.text}")


def connect(load: Load, path: str, body: dict[str, Any], sent: int | None = None) -> socket.socket:
    """Send a request, or its beginning, on a socket whose answer nobody takes."""
    host, _, port = load.url.removeprefix("http://").partition("/")[0].partition(":")
    data = json.dumps(body).encode()
    sock = socket.create_connection((host, int(port)), timeout=30)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    head = f"POST /graphs/people/{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += f"Authorization: {load.headers['Authorization']}\r\nContent-Length: {len(data)}\r\n\r\n"
    sock.sendall(head.encode() + data[:sent])
    return sock


def drip(load: Load, dripped: Counter[str]) -> None:
    """Send a body a byte at a time, until the server has had enough."""
    with connect(load, "query", {"query": COUNT + " " * 10_000}, 3) as sock:
        try:
            while not load.is_slow_over.is_set():
                sock.sendall(b" ")
                load.is_slow_over.wait(0.1)
            dripped["kept"] += 1
        except OSError:
            dripped["left"] += 1


def sip(load: Load, dripped: Counter[str]) -> None:
    """Take an answer a byte at a time. Of one that the server has left, the end never comes."""
    with connect(load, "export", {}) as sock:
        last = b""
        with suppress(OSError):
            while not load.is_slow_over.is_set() and (piece := sock.recv(1)):
                last = piece
                load.sipping[threading.current_thread()] = sock.getsockname()[1]
                load.is_slow_over.wait(0.05)
            while last and (piece := sock.recv(1 << 16)):
                last = (last + piece)[-len(LAST_CHUNK) :]
                if last == LAST_CHUNK:
                    dripped["kept"] += 1
                    return
        dripped["left"] += 1


def wait_until_left(load: Load, server: Served, drips: list[Thread], sips: list[Thread]) -> None:
    """Wait until no worker holds a connection of a slow client; who sips does not see it go."""
    until = time.monotonic() + 120
    for thread in drips:
        thread.join(max(0.0, until - time.monotonic()))
    while time.monotonic() < until:
        held = {
            connection.raddr.port
            for worker in workers_of(server)
            for connection in worker.net_connections("tcp")
            if connection.raddr
        }
        if all(load.sipping.get(thread, 0) not in {0, *held} for thread in sips if thread.is_alive()):
            return
        load.is_slow_over.wait(0.05)


def workers_of(server: Served) -> list[psutil.Process]:
    children = psutil.Process(server.process.pid).children()
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if "spawn_main" in " ".join(child.cmdline())]


def test_no_acknowledged_write_is_lost_when_a_worker_is_killed_among_64_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX", "24")
    monkeypatch.setenv("OMNIGRAPH_SERVER_LOG_LEVEL", "error")
    monkeypatch.setenv("OMNIGRAPH_SERVER_STALL_SECONDS", "2")
    graph = og.init(tmp_path / "people", SCHEMA)
    graph.load(
        [{"type": "Person", "data": {"name": f"old{at}", "payload": "y" * 2_000}} for at in range(2_000)],
        mode="append",
    )
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server, ExitStack() as held:
        headers = {"Authorization": f"Bearer {TOKENS['act-ada']}"}
        began = time.monotonic()
        load = Load(server.url("people"), headers, began + SECONDS + 120)
        load.written.update({f"old{at}": "" for at in range(2_000)})
        for at in range(STALLED):
            path, body = ("export", {}) if at % 2 else ("query", {"query": COUNT})
            held.enter_context(connect(load, path, body, None if at % 2 else 3))
        threads = [
            Thread(target=write if at % 2 else read, args=(load, at)) for at in range(CLIENTS - STALLED)
        ]
        dripped: Counter[str] = Counter()
        drips = [Thread(target=drip, args=(load, dripped)) for _ in range(4)]
        sips = [Thread(target=sip, args=(load, dripped)) for _ in range(4)]
        slow = [*drips, *sips]
        for thread in (*threads, *slow):
            thread.start()
        load.wait_for(2_020, began + SECONDS / 2)
        os.kill(random.choice(workers_of(server)).pid, signal.SIGKILL)
        load.wait_for(len(load.written) + 40, began + SECONDS)
        load.is_over.set()
        wait_until_left(load, server, drips, sips)
        load.is_slow_over.set()
        for thread in (*threads, *slow):
            thread.join(120)
        assert not any(thread.is_alive() for thread in (*threads, *slow))
        resident = max(worker.memory_info().rss for worker in workers_of(server))
        metrics = httpx.get(f"http://{server.address}/metrics", headers=headers, timeout=60).text
        held.close()
        assert server.stop() == 0
    assert load.wrong == []
    assert resident < RESIDENT_BYTES
    assert dripped == {"left": 8}, "who sends or takes a byte at a time is left"
    assert 'omnigraph_commits_total{graph="people",route="/graphs/{graph}/mutate"}' in metrics
    acknowledged = {name: commit for name, commit in load.written.items() if commit}
    print(f"{len(acknowledged)} writes, {load.reads} reads, {dict(load.errors)}, {resident >> 20} MiB")
    assert len(acknowledged) >= 60
    assert load.reads >= 10
    stored = og.open(tmp_path / "people")
    assert {commit.id for commit in stored.commits.list()} >= set(acknowledged.values())
    names = stored.query("query q() { match { $p: Person } return { $p.name } }").to_arrow()[0].to_pylist()
    assert len(names) == len(set(names))
    assert set(load.written) <= set(names) <= set(load.written) | load.unknown
    assert stored.repair().ok


def test_a_server_that_is_told_to_stop_under_load_answers_what_it_began_and_ends(tmp_path: Path) -> None:
    og.init(tmp_path / "people", SCHEMA)
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server:
        headers = {"Authorization": f"Bearer {TOKENS['act-ada']}"}
        load = Load(server.url("people"), headers, 0)
        answered: list[tuple[int, str]] = []

        def write_until_refused(number: int) -> None:
            with httpx.Client(headers=headers, timeout=60) as client:
                for count in range(10_000):
                    body = {"query": ADD, "params": {"n": f"{number}-{count}", "p": ""}}
                    try:
                        answer = client.post(f"{load.url}/mutate", json=body)
                    except httpx.TransportError:
                        return
                    said = answer.json()
                    answered.append((answer.status_code, said.get("commit") or said.get("code", "")))

        threads = [Thread(target=write_until_refused, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        while len(answered) < 20:
            threads[0].join(0.01)
        assert server.stop() == 0
        for thread in threads:
            thread.join(60)
    assert {status for status, _ in answered} <= {200, 409, 503}
    assert {code for status, code in answered if status == 503} <= {"unavailable"}
    stored = {commit.id for commit in og.open(tmp_path / "people").commits.list()}
    assert {commit for status, commit in answered if status == 200} <= stored


def test_a_strict_write_succeeds_beside_an_optimize_of_another_worker_and_fails_beside_a_change(
    tmp_path: Path,
) -> None:
    og.init(tmp_path / "people", SCHEMA)
    change = 'query q() { update Person set { payload: "new" } where name = "a" }'
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server:
        graph = og.open(server.url("people"), token=TOKENS["act-ada"])
        graph.mutate(ADD, {"n": "a", "p": ""})
        head = graph.mutate(ADD, {"n": "b", "p": ""}).commit_id
        assert graph.optimize().commit_id not in (None, head)
        assert graph.mutate(change, if_commit=head).affected_nodes == 1
        with pytest.raises(og.PreconditionFailed):
            graph.mutate(change, if_commit=head)
        assert server.stop() == 0
