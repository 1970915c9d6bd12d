"""Starting a server: one process, or several that share a socket."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from omnigraph.base.errors import BadInput, Unavailable
from omnigraph.base.handed.process_folders import working_folder
from omnigraph.base.plain import from_plain, to_plain
from omnigraph.graph.write.integrity.blob_sources import forbid_files
from omnigraph.policy.gate import Gate
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.graphs import name_graphs
from omnigraph.server.identity import Identity, Tokens
from omnigraph.server.identity.signed_tokens import SignedTokensConfig
from omnigraph.server.identity.sources import find_identity
from omnigraph.server.limits import RequestLimits
from omnigraph.server.observe.logs import set_up_logs
from omnigraph.server.observe.traces import find_traces
from omnigraph.server.policies import ServerPolicies, read_policies
from omnigraph.server.requests.connections import PatientConnection
from omnigraph.server.revisions.of_cluster import check_cluster
from omnigraph.server.supervision import Supervisor
from omnigraph.server.webhooks.config import Webhook, read_webhooks

_REQUEST = "OMNIGRAPH_SERVER_REQUEST"
"""The variable in which a process gives its workers what they are to serve."""
_BACKLOG_CONNECTIONS = 2_048
_HEALTH_SECONDS = 60


@dataclass(frozen=True)
class ServeRequest:
    """What a server is to serve, and where."""

    graphs: Mapping[str, str]
    bind: str = "127.0.0.1:8080"
    workers: int = 1
    token_file: str | None = None
    """None where everybody is let in, or tokens come from elsewhere."""
    state: str | None = None
    """The folder of what outlives the server."""
    allowed: tuple[str, ...] = ()
    """Prefixes of addresses that jobs may read and write."""
    metrics: str | None = None
    """The folder where workers keep their numbers; a temporary one unless given."""
    policies: tuple[str, ...] = ()
    """Files of policies: `FILE` for all graphs or the server, `NAME=FILE` for one graph."""
    signed: SignedTokensConfig | None = None
    """Whose signed tokens are accepted."""
    unauthenticated: bool = False
    """Whether everybody is let in, whatever the environment says."""
    cluster: str | None = None
    """The root of a cluster, which says itself which graphs and policies there are."""
    requires_all: bool = False
    """Whether each graph of the cluster must be served."""
    webhooks: str | None = None
    """The file that says who is told what happens to proposals."""
    only_agents: bool = False
    """Whether there are the tools of agents and no other routes of graphs."""
    agents_read_only: bool = False
    """Whether agents have only tools that read."""


def serve(request: ServeRequest, announce: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop; `announce` is told the address as soon as it is bound."""
    name_graphs(request.graphs)
    forbid_files()
    _read_webhooks(request.webhooks)
    identity, _, _ = _read_rights(request)  # what is wrong is said here, not by a worker
    if request.cluster is not None:
        check_cluster(request.cluster, not identity.is_open)
    host, port = _read_bind(request.bind)
    limits = RequestLimits.from_environment()
    with working_folder("metrics") as folder:
        kept = replace(request, metrics=request.metrics or folder)
        os.environ[_REQUEST] = json.dumps(to_plain(kept))
        _run(request, limits, host, port, announce)


def _run(
    request: ServeRequest, limits: RequestLimits, host: str, port: int, announce: Callable[[str], None]
) -> None:
    config = uvicorn.Config(
        "omnigraph.server.run:build_app",
        factory=True,
        host=host,
        port=port,
        workers=request.workers,
        http=PatientConnection,
        log_config=None,
        access_log=False,
        # A worker that works hard is not a dead one.
        timeout_worker_healthcheck=_HEALTH_SECONDS,
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
        set_up_logs()
        supervisor = Supervisor(config, [sock], limits.stop_seconds + limits.exit_seconds)
        supervisor.run()
        has_failed = supervisor.has_failed
    else:
        server.run(sockets=[sock])
        has_failed = not server.started
    if has_failed:
        raise Unavailable("the server did not start: what it wrote above says why")


def build_app() -> FastAPI:
    """Return the application of a process that was started to serve."""
    request = from_plain(ServeRequest, json.loads(os.environ[_REQUEST]))
    identity, gates, server = _read_rights(request)
    limits = RequestLimits.from_environment()
    set_up_logs()
    app = create_app(
        ServerConfig(
            request.graphs,
            identity,
            limits,
            state=None if request.state is None else Path(request.state),
            allowed=request.allowed,
            metrics=None if request.metrics is None else Path(request.metrics),
            traces=find_traces(),
            policies=gates,
            server_policy=server,
            cluster=request.cluster,
            requires_all=request.requires_all,
            webhooks=_read_webhooks(request.webhooks),
            only_agents=request.only_agents,
            agents_read_only=request.agents_read_only,
        )
    )
    _stop_in_time(app, limits.stop_seconds + limits.exit_seconds)
    _end_with_parent()
    return app


def _read_webhooks(path: str | None) -> tuple[Webhook, ...]:
    return () if path is None else read_webhooks(Path(path))


def _read_rights(request: ServeRequest) -> tuple[Identity, dict[str, Gate], Gate | None]:
    """Return who may call and what they may do, or say why a server cannot be started so."""
    identity: Identity = Tokens()
    if not request.unauthenticated:
        identity = find_identity(request.token_file, request.signed)
        if identity.is_open:
            raise BadInput(
                "say who may call: give --token-file or --jwks, or --unauthenticated for everybody"
            )
    gates, server = read_policies(request.policies, list(request.graphs))
    ServerPolicies.choose(not identity.is_open, gates, server)
    return identity, gates, server


def _end_with_parent() -> None:
    """Let a worker stop when the process that started it is gone: nobody else would, and it has the port."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="omnigraph-parent", daemon=True).start()


def _stop_in_time(app: FastAPI, seconds: float) -> None:
    """Let a signal to stop be known at once, and end the process when it does not end by itself.

    What is abandoned then is a write before its publish, or a job that another process does again.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def stop(given: int, frame: FrameType | None, before: Any = before) -> None:
            app.state.stopping.set()
            app.state.jobs.stop()
            last = threading.Timer(seconds, os._exit, (0,))
            last.daemon = True
            last.start()
            if callable(before):
                before(given, frame)

        signal.signal(number, stop)


def _read_bind(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BadInput(f"--bind is {bind!r}: give an address and a port, such as 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) only on sockets that say that they are TCP: else an answer, whose
    # head and body are written one after the other, waits 40 ms for an acknowledgement.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise Unavailable(f"{host}:{port} cannot be bound: {error.strerror or error}") from error
    sock.listen(_BACKLOG_CONNECTIONS)  # who is told the address may call at once
    sock.set_inheritable(True)
    return sock
