"""An S3 server for tests: moto behind one lock, with a log of requests; run as a program.

moto looks for an existing object and writes the new one in two steps, so two threads can both win a
conditional put; the lock makes each request atomic. The server prints its port on one line and ends when
its standard input does, that is, when the process that started it is gone.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any
from urllib.parse import unquote_plus

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

OWNER_KEY = "owner"
READER_KEY = "reader"
LOG_PATH = "/_requests"
LOSE_PATH = "/_lose"

Environ = dict[str, Any]
App = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
_KEY = re.compile(r"Credential=([^/]+)/")


class Gate:
    """Lets requests through one at a time, checks who sent them, keeps a log, and loses answers on demand."""

    def __init__(self, app: App, *, locked: bool = True) -> None:
        self._app = app
        self._lock = threading.Lock() if locked else nullcontext()
        self._log: list[tuple[str, str, str]] = []
        self._to_lose: list[tuple[str, str]] = []

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        if path == LOG_PATH:
            return self._show_log(query, start_response)
        if path.startswith(LOSE_PATH):
            _, _, method, key = path.split("/", 3)
            self._to_lose.append((method, key))
            return _answer("204 No Content", b"", start_response)
        method = environ["REQUEST_METHOD"]
        key = path.lstrip("/").partition("/")[2].encode("latin-1").decode()
        refusal = _refusal(environ.get("HTTP_AUTHORIZATION", ""), method)
        if refusal:
            return _answer("403 Forbidden", _problem(refusal), start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            self._log.append((method, key, unquote_plus(query)))
            if (method, key) in self._to_lose:
                self._to_lose.remove((method, key))
                list(self._app(environ, lambda *_: None))
                return _answer("500 Internal Server Error", _problem("InternalError"), start_response)
            return list(self._app(environ, start_response))

    def _show_log(self, query: str, start_response: Callable[..., Any]) -> Iterable[bytes]:
        return _answer("200 OK", json.dumps(self._log[int(query or 0) :]).encode(), start_response)


def _refusal(authorization: str, method: str) -> str | None:
    match = _KEY.search(authorization)
    if match is None or match[1] not in (OWNER_KEY, READER_KEY):
        return "InvalidAccessKeyId"
    if match[1] == READER_KEY and method not in ("GET", "HEAD"):
        return "AccessDenied"
    return None


def _problem(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


def _answer(status: str, body: bytes, start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


class _KeepAlive(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing."""


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Serve on a free port until standard input ends."""
    locked = "--unlocked" not in sys.argv
    gate = Gate(create_backend_app("s3"), locked=locked)
    server = make_server("127.0.0.1", 0, gate, threaded=True, request_handler=_KeepAlive)  # type: ignore[arg-type]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
