"""`omnigraph serve`, as an operator starts, kills and stops it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

import omnigraph as og
from omnigraph.server.run import _bind
from support.served import TOKENS, Served, running_server

SCHEMA = "node Person { name: String @key }"
ADD = "query q($n: String) { insert Person { name: $n } }"
RUN = [sys.executable, "-c", "from omnigraph.cli.main import run; run()", "serve"]


def test_two_graphs_are_served_by_name_until_a_signal_stops_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        og.init(tmp_path / name, SCHEMA)
    with running_server(tmp_path, str(tmp_path / "a"), "--graph", f"other={tmp_path / 'b'}") as server:
        headers = {"Authorization": f"Bearer {TOKENS['agent-7']}"}
        assert httpx.get(f"http://{server.address}/graphs", headers=headers).json() == {
            "graphs": ["a", "other"]
        }
        og.open(server.url("other"), token=TOKENS["agent-7"]).mutate(ADD, {"n": "x"})
        assert server.stop() == 0
    assert og.open(tmp_path / "b").commits.list()[0].actor == "agent-7"


def test_the_example_of_the_page_runs_and_prints_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    (found,) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    og.init(tmp_path / "people", "node Person { name: String @key  age: I32? }")
    with running_server(tmp_path, str(tmp_path / "people")) as server:
        exec(compile(found[0], "server.md", "exec"), {"og": og, "url": server.url("people")})
    assert capsys.readouterr().out == found[1]


@pytest.mark.long
def test_who_waits_for_a_server_that_stops_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "people", "node N { name: String @key }\nedge K: N -> N")
    names = [f"{number:04}" for number in range(2_000)]
    edges = [
        {"edge": "K", "from": name, "to": names[(at * 7 + step) % len(names)]}
        for at, name in enumerate(names)
        for step in range(20)
    ]
    graph.load([*({"type": "N", "data": {"name": name}} for name in names), *edges], mode="append")
    paths = "$a k $b  $b k $c  $c k $d  $d k $e"
    slow = f"query q() {{ match {{ $a: N  {paths} }} return {{ $a.name, count(distinct $e) as n }} }}"
    monkeypatch.setenv("OMNIGRAPH_SERVER_STOP_SECONDS", "1")
    with running_server(tmp_path, str(tmp_path / "people")) as server, ThreadPoolExecutor() as pool:
        headers = {"Authorization": f"Bearer {TOKENS['act-ada']}"}
        client = httpx.Client(headers=headers, timeout=60)
        waiting = pool.submit(client.post, f"{server.url('people')}/query", json={"query": slow})
        metrics = f"http://{server.address}/metrics"
        while 'omnigraph_calls{kind="read"} 1' not in client.get(metrics).text:
            pass
        assert server.stop() == 0
        answer = waiting.result(60)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


@pytest.mark.long
def test_a_worker_that_is_killed_loses_no_acknowledged_write(tmp_path: Path) -> None:
    og.init(tmp_path / "people", SCHEMA)
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server:
        graph = og.open(server.url("people"), token=TOKENS["act-ada"])
        told = [graph.mutate(ADD, {"n": f"before{number}"}).commit_id for number in range(5)]
        workers = _workers(server)
        assert len(workers) == 2
        os.kill(workers[0].pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while len(told) < 10 and time.monotonic() < deadline:
            try:
                told.append(
                    graph.mutate(ADD, {"n": f"after{len(told)}"}, idempotency_key=f"k{len(told)}").commit_id
                )
            except og.Unavailable:
                continue
        assert len(told) == 10
        assert server.stop() == 0
    stored = og.open(tmp_path / "people")
    assert {commit.id for commit in stored.commits.list()} >= set(told)
    assert stored.query("query q() { match { $p: Person } return { count($p) as n } }").scalar() == 10


@pytest.mark.long
def test_a_worker_that_hangs_does_not_keep_the_server_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    og.init(tmp_path / "people", SCHEMA)
    monkeypatch.setenv("OMNIGRAPH_SERVER_STOP_SECONDS", "1")
    monkeypatch.setenv("OMNIGRAPH_SERVER_EXIT_SECONDS", "1")
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server:
        httpx.get(f"http://{server.address}/readyz", timeout=60)
        hanging = _workers(server)[0]
        hanging.suspend()
        try:
            assert server.stop() == 0
            assert not hanging.is_running()
        finally:
            if hanging.is_running():
                hanging.kill()


@pytest.mark.long
def test_a_server_whose_workers_cannot_start_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    og.init(tmp_path / "people", SCHEMA)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")  # its library is not installed
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server:
        assert server.process.wait(60) == 1
    told = capfd.readouterr().err
    assert "opentelemetry" in told
    assert "error [unavailable]: the server did not start" in told


@pytest.mark.long
def test_workers_end_when_the_process_that_started_them_was_killed(tmp_path: Path) -> None:
    og.init(tmp_path / "people", SCHEMA)
    with running_server(tmp_path, str(tmp_path / "people"), workers=2) as server:
        url = f"http://{server.address}/readyz"
        started = time.monotonic() + 60
        while time.monotonic() < started:
            try:
                httpx.get(url, timeout=60)
                break
            except httpx.TransportError:
                continue
        workers = psutil.Process(server.process.pid).children(recursive=True)
        assert len(workers) >= 2
        server.process.kill()
        gone, alive = psutil.wait_procs(workers, 60)
        assert (len(gone), alive) == (len(workers), [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "say who may call"),
        (["--unauthenticated"], "which graphs?"),
        (["a/x", "b/x", "--unauthenticated"], "two graphs are called 'x'"),
        (["--graph", "nope", "--unauthenticated"], "give NAME=URI"),
        (["x", "--unauthenticated", "--bind", "nope"], "--bind is 'nope'"),
        (["x", "--token-file", "none"], "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_at_once(tmp_path: Path, arguments: list[str], told: str) -> None:
    done = subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    assert done.returncode in (1, 2)
    assert told in " ".join(done.stderr.split()).replace("│ ", "").replace(" │", "")


def test_answers_are_sent_at_once_and_do_not_wait_for_acknowledgements() -> None:
    """asyncio sets TCP_NODELAY on the connections of a socket that says that it is TCP, and on no other."""
    with _bind("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def _workers(server: Served) -> list[psutil.Process]:
    children = psutil.Process(server.process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]
