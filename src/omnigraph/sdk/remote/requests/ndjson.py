"""Answers that are records, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.wire.media import NDJSON


def ask_records(transport: Transport, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the lines of an answer as records; what is wrong is said now, and rows come later."""
    records = _records(transport, path, body)
    next(records)
    return records


def _records(transport: Transport, path: str, body: Mapping[str, Any]) -> Iterator[Any]:
    with transport.stream("POST", path, {"Accept": NDJSON}, body) as answer:
        yield None
        for line in answer.lines():
            if line:
                yield json.loads(line)
