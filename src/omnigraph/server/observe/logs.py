"""The log: a JSON object a line, without secrets, and without what callers have sent."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

from omnigraph.base.credentials import hide_credentials
from omnigraph.base.errors import BadInput
from omnigraph.server.context import current_request

_LEVEL = "OMNIGRAPH_SERVER_LOG_LEVEL"
_LEVELS = ("debug", "info", "warning", "error")


class JsonLines(logging.Formatter):
    """Formats records as lines of JSON.

    Of an exception only its class and where it was raised are told: its text may hold what a caller has sent.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        request = current_request()
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": hide_credentials(record.getMessage()),
            "request_id": None if request is None else request.id,
        }
        entry.update(record.__dict__.get("facts") or {})
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            entry["exception"] = type(error).__name__
            entry["frames"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(error.__traceback__)
            ]
        return json.dumps({key: item for key, item in entry.items() if item is not None}, default=str)


def set_up_logs() -> None:
    """Let this process write its log to standard error."""
    level = os.environ.get(_LEVEL, "info").lower()
    if level not in _LEVELS:
        raise BadInput(f"{_LEVEL} is {level!r}: use one of {', '.join(_LEVELS)}", variable=_LEVEL)
    # No line tells these, and to find them for each takes longer than all else (`logging`, "Optimization").
    logging._srcfile = None
    logging.logThreads = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("omnigraph").setLevel(level.upper())
