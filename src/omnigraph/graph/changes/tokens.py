"""Cursors and page tokens: opaque, checksummed, and bound to what they were made for."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from omnigraph.base.errors import ChangeCursorRejected

MAX_TOKEN_CHARACTERS = 4_096
_CHECK_BYTES = 12
_CONTEXT = b"omnigraph change token 1\0"


def seal(kind: str, bound: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    """Return a token of a kind: what it is bound to, and the place that it stands for."""
    payload = json.dumps([kind, bound, place], separators=(",", ":"), sort_keys=True).encode()
    return base64.urlsafe_b64encode(_checksum(payload) + payload).decode().rstrip("=")


def unseal(token: str, kind: str, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return the place that a token stands for, or refuse it."""
    found_kind, found_bound, place = _open(token)
    if found_kind != kind:
        raise cursor_rejected_error(f"it is a {found_kind}, and a {kind} is wanted here")
    for name in sorted(bound):
        if found_bound.get(name) != bound[name]:
            raise cursor_rejected_error(f"it was made for another {name}")
    return place


def cursor_rejected_error(reason: str) -> ChangeCursorRejected:
    """Return the error for a token that does not belong here."""
    return ChangeCursorRejected(f"change cursor rejected: {reason}")


def _open(token: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN_CHARACTERS:
        raise cursor_rejected_error(f"it is not a string of at most {MAX_TOKEN_CHARACTERS} characters")
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise cursor_rejected_error("it is damaged") from None
    check, payload = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
    if check != _checksum(payload):
        raise cursor_rejected_error("it is damaged")
    kind, bound, place = json.loads(payload)
    return kind, bound, place


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(_CONTEXT + payload).digest()[:_CHECK_BYTES]
