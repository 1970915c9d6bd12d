"""Starting a server: one process, or several that share a socket."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from omnigraph.base.errors import BadInput, Unavailable
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.graphs import name_graphs
from omnigraph.server.identity import Tokens, read_tokens
from omnigraph.server.limits import RequestLimits

_CONFIG = "OMNIGRAPH_SERVER_CONFIG"
_BACKLOG = 2_048


@dataclass(frozen=True)
class ServeRequest:
    """What a server is to serve, and where."""

    graphs: Mapping[str, str]
    bind: str = "127.0.0.1:8080"
    workers: int = 1
    token_file: str | None = None
    """None where everybody is let in."""
    state: str | None = None
    """The folder of what outlives the server."""
    allowed: tuple[str, ...] = ()
    """Prefixes of addresses that jobs may read and write."""


def serve(request: ServeRequest, announce: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop; `announce` is told the address as soon as it is bound."""
    name_graphs(request.graphs)
    if request.token_file is not None:
        read_tokens(Path(request.token_file))  # what is wrong is said here, not by a worker
    host, port = _read_bind(request.bind)
    os.environ[_CONFIG] = json.dumps(asdict(request))
    limits = RequestLimits.from_environment()
    config = uvicorn.Config(
        "omnigraph.server.run:build_app",
        factory=True,
        host=host,
        port=port,
        workers=request.workers,
        log_level="warning",
        timeout_graceful_shutdown=round(limits.stop_seconds),
    )
    sock = _bind(host, port)
    bound = sock.getsockname()
    announce(f"{bound[0]}:{bound[1]}")
    server = uvicorn.Server(config)
    # It raises the signal that stopped it once more when everything is done: that was no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    if request.workers > 1:
        Multiprocess(config, sockets=[sock]).run()
    else:
        server.run(sockets=[sock])
    if not server.started and request.workers == 1:
        raise Unavailable("the server did not start: what it wrote above says why")


def build_app() -> FastAPI:
    """Return the application of a process that was started to serve."""
    told = json.loads(os.environ[_CONFIG])
    tokens = read_tokens(Path(told["token_file"])) if told["token_file"] else Tokens()
    limits = RequestLimits.from_environment()
    state = None if told["state"] is None else Path(told["state"])
    return create_app(ServerConfig(told["graphs"], tokens, limits, state, tuple(told["allowed"])))


def _read_bind(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BadInput(f"--bind is {bind!r}: give an address and a port, such as 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise Unavailable(f"{host}:{port} cannot be bound: {error.strerror or error}") from error
    sock.listen(_BACKLOG)  # who is told the address may call at once
    sock.set_inheritable(True)
    return sock
