"""An OpenLineage endpoint over real HTTP, which may also refuse, hang or not be there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.http_server import QuietHandler, running_http_server


@dataclass
class LineageServer:
    """A running endpoint."""

    url: str
    events: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    status: int = 201
    hangs: bool = False
    released: threading.Event = field(default_factory=threading.Event)


class Handler(QuietHandler):
    """Takes events."""

    def do_POST(self) -> None:
        server: LineageServer = self.server.owner  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if server.hangs:
            server.released.wait()
            return
        server.paths.append(self.path)
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        server.events.append(json.loads(body))
        self.send_response(server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def running_lineage_server() -> Iterator[LineageServer]:
    """Run an endpoint for the block."""
    server = LineageServer("")
    with running_http_server(Handler, server) as address:
        server.url = address
        try:
            yield server
        finally:
            server.released.set()
