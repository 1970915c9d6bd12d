"""Answers by idempotency key, of writes that make no commit which could hold the key: branches, tags, care.

A key is a file under the state of the server, whose workers share it: a line when the write begins, and one
with the answer. Who repeats a request waits for the first to end, and is answered as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi.responses import Response

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, Conflict, NotFound, OmniError, OutcomeUnknown, Unavailable
from omnigraph.server.calls import GraphCall
from omnigraph.server.context import RequestState
from omnigraph.storage.files.shared_files import take_lock

_MOST_KEY_BYTES = 1_024
_KEPT_SECONDS = 7 * 86_400.0
"""How long an answer is kept."""
_SWEEP_SECONDS = 3_600.0
_POLL_SECONDS = 0.05


class Repeats:
    """The answers that are kept for repeated requests."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "answers"

    def answer_once(self, call: GraphCall, request: RequestState, act: Callable[[], Response]) -> Response:
        """Return what a write answers, or answered when it was first asked for under its key."""
        key = request.idempotency_key
        if key is None:
            return act()
        if not 0 < len(key.encode()) <= _MOST_KEY_BYTES:
            raise BadInput(f"Idempotency-Key has {len(key)} characters: give 1 to {_MOST_KEY_BYTES} bytes")
        with self._claim(call.open().id, request) as file:
            lines = _read_lines(file)
            if lines and lines[0]["digest"] != request.digest:
                raise Conflict(f"idempotency key {key!r} was used for another request", key=key)
            if len(lines) > 1:
                return _as_response(lines[1]["status"], lines[1]["body"].encode())
            return self._act(file, request, act, was_begun=bool(lines))

    def _act(
        self, file: int, request: RequestState, act: Callable[[], Response], was_begun: bool
    ) -> Response:
        if not was_begun:
            os.ftruncate(file, 0)
            _append(file, {"digest": request.digest})
        try:
            answer = act()
        except (Conflict, NotFound) as error:
            if was_begun:
                raise OutcomeUnknown(
                    "a worker died while it did this for the first time, and now it is refused: "
                    f"{error.message}. Perhaps it is done: look, and take another key to do it again",
                    key=request.idempotency_key,
                    code=error.code,
                ) from error
            os.ftruncate(file, 0)
            raise
        except (Unavailable, OutcomeUnknown):
            raise  # it may have been done
        except OmniError:
            if not was_begun:
                os.ftruncate(file, 0)
            raise
        _append(file, {"status": answer.status_code, "body": bytes(answer.body).decode()})
        return answer

    @contextmanager
    def _claim(self, graph: str, request: RequestState) -> Iterator[int]:
        """Hold the file of a key, which no other request does meanwhile; a dead process holds nothing."""
        folder = self._folder / graph
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(folder)
        name = hashlib.sha256(json.dumps([request.actor, request.idempotency_key]).encode()).hexdigest()
        file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        pause = threading.Event()
        try:
            while not take_lock(file, waits=False):
                request.check()
                pause.wait(_POLL_SECONDS)
            yield file
        finally:
            os.close(file)


def _read_lines(file: int) -> list[dict[str, Any]]:
    """Return what is noted of a key; a line that was cut off is none."""
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(os.dup(file), "rb") as reader:
        *lines, cut = reader.read().split(b"\n")
    if cut:
        os.ftruncate(file, sum(len(line) + 1 for line in lines))
    return [json.loads(line) for line in lines]


def _append(file: int, entry: dict[str, Any]) -> None:
    rest = memoryview(json.dumps(entry).encode() + b"\n")
    while rest:
        rest = rest[os.write(file, rest) :]


def _as_response(status: int, body: bytes) -> Response:
    return Response(body, status, media_type="application/json" if body else None)


def _sweep(folder: Path) -> None:
    """Forget old answers, once an hour."""
    now, mark = clock.current().now_us() / 1e6, folder / ".swept"
    with suppress(FileNotFoundError):
        if now - mark.stat().st_mtime < _SWEEP_SECONDS:
            return
    mark.touch()
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if now - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink()
