"""Rows of a query as an Arrow stream that says what our types of its columns are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from omnigraph.wire.values import encode

_COLUMNS = b"omnigraph.columns"
_COMMIT = b"omnigraph.commit"
_ENGINE = b"omnigraph.engine"


def result_metadata(columns: object, commit: str, engine: str = "local") -> dict[bytes, bytes]:
    """Return what the schema of a stream says beside Arrow's types."""
    told = json.dumps(encode(columns)).encode()
    return {_COLUMNS: told, _COMMIT: commit.encode(), _ENGINE: engine.encode()}


def read_metadata(metadata: Mapping[bytes, bytes]) -> tuple[Any, str, str]:
    """Return the columns as JSON data, the commit, and where the query ran."""
    return json.loads(metadata[_COLUMNS]), metadata[_COMMIT].decode(), metadata[_ENGINE].decode()
