"""Rows of a query as an Arrow stream that says what our types of its columns are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from omnigraph.wire.values import encode

_COLUMNS = b"omnigraph.columns"
_COMMIT = b"omnigraph.commit"


def result_metadata(columns: object, commit: str) -> dict[bytes, bytes]:
    """Return what the schema of a stream says beside Arrow's types."""
    return {_COLUMNS: json.dumps(encode(columns)).encode(), _COMMIT: commit.encode()}


def read_metadata(metadata: Mapping[bytes, bytes]) -> tuple[Any, str]:
    """Return the columns as JSON data, and the commit."""
    return json.loads(metadata[_COLUMNS]), metadata[_COMMIT].decode()
