"""The S3 server of the tests: atomic, counted, and gone with whoever started it."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.test import Client

from omnigraph.base.errors import AlreadyExists
from omnigraph.storage.objects import ObjectStore
from support.processes import run_in_threads
from support.s3 import AUTHORIZED, S3
from support.s3_server import Gate

pytestmark = pytest.mark.s3

START_AND_WAIT = """
import sys
sys.path.insert(0, sys.argv[1])
from support.s3 import running_server
with running_server() as server:
    print(server.endpoint.rpartition(":")[2], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Let threads interrupt each other a thousand times more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 1000)
    yield
    sys.setswitchinterval(before)


def create_once(store: ObjectStore, path: str) -> bool:
    try:
        store.create(path, b"data")
        return True
    except AlreadyExists:
        return False


def test_of_eight_threads_one_creates_in_each_of_200_rounds(s3: S3) -> None:
    stores = [s3.store() for _ in range(8)]
    barrier = threading.Barrier(8)

    def race(store: ObjectStore) -> list[bool]:
        won = []
        for number in range(200):
            barrier.wait(60)
            won.append(create_once(store, f"race/{number}"))
        return won

    won = run_in_threads(race, [(store,) for store in stores])
    assert [sum(each) for each in zip(*won, strict=True)] == [1] * 200


def test_the_gate_makes_conditional_puts_atomic_however_threads_switch(eager_switching: None) -> None:
    app = Gate(create_backend_app("s3"))
    assert Client(app).put("/bucket", headers=AUTHORIZED).status_code == 200
    barrier = threading.Barrier(8)

    def race() -> list[bool]:
        client, won = Client(app), []
        for number in range(25):
            barrier.wait(60)
            headers = {**AUTHORIZED, "If-None-Match": "*"}
            won.append(client.put(f"/bucket/{number}", data=b"x", headers=headers).status_code == 200)
        return won

    won = run_in_threads(race, [()] * 8)
    assert [sum(each) for each in zip(*won, strict=True)] == [1] * 25


def test_it_ends_when_the_process_that_started_it_is_killed() -> None:
    tests = str(Path(__file__).parents[2])
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, tests],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdin is not None
    assert starter.stdout is not None
    port = int(starter.stdout.readline())
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    starter.send_signal(signal.SIGKILL)
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b"", "the connection ends with the server"
    starter.wait()
    starter.stdin.close()
    starter.stdout.close()


def test_it_tells_the_requests_of_a_block_and_only_those(s3: S3) -> None:
    store = s3.store("p")
    store.put("before", b"")
    with s3.requests() as seen:
        store.put("ü %20/x", b"")
        list(store.list("ü %20"))
    store.put("after", b"")
    assert [tuple(request) for request in seen] == [
        ("PUT", "p/ü %20/x", ""),
        ("GET", "", "list-type=2&prefix=p/ü %20/"),
    ]
    assert [request.is_listing for request in seen] == [False, True]


def test_each_bucket_is_empty_at_first(s3: S3) -> None:
    s3.store().put("a", b"")
    assert not s3.fresh().store().exists("")
