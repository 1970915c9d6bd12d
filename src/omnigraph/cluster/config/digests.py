"""Digests of what is declared: equal ones mean that there is nothing to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def encode_canonical(value: Any) -> bytes:
    """Return plain data as JSON of one form only."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def hash_value(value: Any) -> str:
    """Return the SHA-256 of plain data."""
    return hash_bytes(encode_canonical(value))


def compose_graph(schema: str | None, queries: Mapping[str, str], provider: str | None, blobs: Any) -> str:
    """Return the digest of a graph: that of its parts."""
    return hash_value({"schema": schema, "queries": dict(queries), "provider": provider, "blobs": blobs})
