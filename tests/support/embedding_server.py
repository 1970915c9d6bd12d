"""An embedding provider over real HTTP: OpenAI's form and Gemini's, and every way to fail."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.http_server import QuietHandler, running_http_server

Answer = Callable[["Handler", "Asked"], None]


@dataclass(frozen=True)
class Asked:
    """One request that the server got."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        """The texts in it, of either form."""
        if "requests" in self.body:
            return [item["content"]["parts"][0]["text"] for item in self.body["requests"]]
        found = self.body["input"]
        return found if isinstance(found, list) else [found]

    @property
    def dimension(self) -> int:
        """The dimension that it asks for."""
        if "requests" in self.body:
            return int(self.body["requests"][0]["outputDimensionality"])
        return int(self.body.get("dimensions", 4))


@dataclass
class EmbeddingServer:
    """A running server. `next` holds how coming requests are answered; without one they are answered well."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    next: list[Answer] = field(default_factory=list)
    always: Answer | None = None
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        """All texts that were asked for."""
        return [text for asked in self.asked for text in asked.texts]


def vector_of(text: str, dimension: int) -> list[float]:
    """Return the vector that the server gives for a text; its length is not one."""
    data = hashlib.shake_256(text.encode()).digest(dimension)
    return [byte + 1.0 for byte in data]


def well(handler: Handler, asked: Asked) -> None:
    """Answer as the provider should; where that is allowed, in another order than the texts."""
    found = [vector_of(text, asked.dimension) for text in asked.texts]
    vectors(*found)(handler, asked)


def vectors(*found: Any) -> Answer:
    """Answer with these vectors, whatever was asked."""

    def answer(handler: Handler, asked: Asked) -> None:
        if "requests" in asked.body:
            handler.answer(200, {"embeddings": [{"values": item} for item in found]})
        else:
            data = [{"index": place, "embedding": item} for place, item in enumerate(found)]
            handler.answer(200, {"data": data[::-1]})

    return answer


def status(code: int, message: str = "no", **headers: str) -> Answer:
    """Answer with an error of the provider; `retry_after` becomes the header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: handler.answer(code, {"error": {"message": message}}, named)


def raw(data: bytes) -> Answer:
    """Answer well, with these bytes."""
    return lambda handler, _: handler.send(200, data, {})


def hang(handler: Handler, _: Asked) -> None:
    """Do not answer until the test is over."""
    handler.server.owner.released.wait(30)  # type: ignore[attr-defined]


def drip(handler: Handler, _: Asked) -> None:
    """Send an answer byte by byte, without end."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.server.owner.released.wait(0.02):  # type: ignore[attr-defined]
        handler.wfile.write(b" ")
        handler.wfile.flush()


def break_off(handler: Handler, _: Asked) -> None:
    """Close the connection without a word."""
    handler.close_connection = True


class Handler(QuietHandler):
    """Speaks to one client."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: EmbeddingServer = self.server.owner  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        server.asked.append(asked)
        answer = server.next.pop(0) if server.next else server.always or well
        try:
            answer(self, asked)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, code: int, body: Any, headers: dict[str, str] | None = None) -> None:
        """Answer with JSON."""
        self.send(code, json.dumps(body).encode(), headers or {})

    def send(self, code: int, data: bytes, headers: dict[str, str]) -> None:
        """Answer with bytes."""
        self.send_response(code)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def running_embedding_server() -> Iterator[EmbeddingServer]:
    """Run a server for the block."""
    server = EmbeddingServer("")
    with running_http_server(Handler, server) as address:
        server.url = f"{address}/v1"
        try:
            yield server
        finally:
            server.released.set()
