"""An OpenLineage endpoint over real HTTP, which may also refuse, hang or not be there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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


class Handler(BaseHTTPRequestHandler):
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

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def running_lineage_server() -> Iterator[LineageServer]:
    """Run an endpoint for the block."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = LineageServer(f"http://127.0.0.1:{http.server_port}")
    http.owner = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        thread.join()
        http.server_close()
