"""`Outbox`: sends events in order, from a thread of its own, and never fails who puts them in."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from omnigraph.base.credentials import hide_credentials
from omnigraph.execution.lineage.target import LineageTarget

_log = logging.getLogger("omnigraph")
Event = Mapping[str, Any]


class Outbox:
    """The events of one run, on their way."""

    def __init__(self, target: LineageTarget, seconds: float) -> None:
        """Send to a target, and wait at most so long for an answer, and at the end."""
        self._target, self._seconds = target, seconds
        self._waiting: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._send_all, daemon=True, name="omnigraph-lineage")
        self._thread.start()

    def put(self, event: Event) -> None:
        """Send an event after those before it."""
        self._waiting.put(event)

    def close(self) -> None:
        """Wait until all is sent, but not for ever."""
        self._waiting.put(None)
        self._thread.join(self._seconds)
        if self._thread.is_alive():
            _log.warning(
                "lineage events were not taken within %.3g s by %s: going on without them",
                self._seconds,
                self._target.shown,
            )

    def _send_all(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                data = json.dumps(event, ensure_ascii=False).encode()
                if self._target.is_endpoint:
                    self._post(data)
                else:
                    _append_line(Path(self._target.address), data)
            except Exception as error:  # whatever it is: a load does not fail because of it
                reason = hide_credentials(f"{type(error).__name__}: {error}")
                _log.warning("a lineage event could not be sent to %s: %s", self._target.shown, reason)

    def _post(self, data: bytes) -> None:
        import httpx

        headers = {"Content-Type": "application/json"}
        if self._target.key is not None:
            headers["Authorization"] = f"Bearer {self._target.key}"
        answer = httpx.post(self._target.address, content=data, headers=headers, timeout=self._seconds)
        if not answer.is_success:
            raise OSError(f"status {answer.status_code}")


def _append_line(path: Path, data: bytes) -> None:
    """Append in one call, so that lines of several processes do not mix."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, data + b"\n")
    finally:
        os.close(file)
