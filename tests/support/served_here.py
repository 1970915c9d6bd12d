"""A server in this process, on a real socket, so that a test can look into it while it serves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from omnigraph.server.requests.connections import PatientConnection

_POLL_SECONDS = 0.01


@contextmanager
def serving_here(app: FastAPI) -> Iterator[str]:
    """Serve an application and yield its address."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5, http=PatientConnection)
    )
    thread = threading.Thread(target=server.run, args=([sock],))
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another thread does; fail when it does not come."""
    pause = threading.Event()
    for _ in range(int(seconds / _POLL_SECONDS)):
        if holds():
            return
        pause.wait(_POLL_SECONDS)
    raise AssertionError("it did not happen in time")
