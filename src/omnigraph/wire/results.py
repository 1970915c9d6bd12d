"""Rows of a query as an Arrow stream that says what our types of its columns are."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from functools import lru_cache

from omnigraph.wire.values import encode

_COLUMNS = b"omnigraph.columns"
_COMMIT = b"omnigraph.commit"
_ENGINE = b"omnigraph.engine"
MOST_QUERIES_HELD = 1_024
"""A query is asked again and again, and its columns are the same each time."""


def result_metadata(columns: Hashable, commit: str, engine: str = "local") -> dict[bytes, bytes]:
    """Return what the schema of a stream says beside Arrow's types."""
    return {_COLUMNS: _write_columns(columns), _COMMIT: commit.encode(), _ENGINE: engine.encode()}


def read_metadata(metadata: Mapping[bytes, bytes]) -> tuple[bytes, str, str]:
    """Return the columns as JSON, the commit, and where the query ran."""
    return metadata[_COLUMNS], metadata[_COMMIT].decode(), metadata[_ENGINE].decode()


@lru_cache(MOST_QUERIES_HELD)
def _write_columns(columns: Hashable) -> bytes:
    return json.dumps(encode(columns)).encode()
