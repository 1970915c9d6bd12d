"""Cursors and page tokens: opaque, checksummed, and bound to what they were made for.

The checksum is against damage, not against forgers: what a token says is checked like any other input.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from omnigraph.base.errors import ChangeCursorRejected

MAX_TOKEN_CHARACTERS = 4_096
_CHECK_BYTES = 12
_NUMBERS_BELOW = 2**63
_CONTEXT = b"omnigraph change token 1\0"


def seal(kind: str, bound: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    """Return a token of a kind: what it is bound to, and the place that it stands for."""
    payload = json.dumps([kind, bound, place], separators=(",", ":"), sort_keys=True).encode()
    return base64.urlsafe_b64encode(_checksum(payload) + payload).decode().rstrip("=")


def unseal(
    token: str, kind: str, bound: Mapping[str, Any], numbers: Collection[str], commit: str | None = None
) -> dict[str, Any]:
    """Return the place that a token stands for, or refuse it: some numbers, and perhaps a commit's id."""
    found_kind, found_bound, place = _open(token)
    if found_kind != kind:
        raise cursor_rejected_error(f"it is a {found_kind}, and a {kind} is wanted here")
    for name in sorted(bound):
        if found_bound.get(name) != bound[name]:
            raise cursor_rejected_error(f"it was made for another {name}")
    is_whole = place.keys() == {*numbers, *filter(None, [commit])}
    if not (is_whole and all(_is_count(place[name]) for name in numbers)):
        raise cursor_rejected_error("it is damaged")
    if commit is not None and not isinstance(place[commit], str | None):
        raise cursor_rejected_error("it is damaged")
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
    try:
        kind, bound, place = json.loads(payload)
    except (ValueError, TypeError, RecursionError):
        raise cursor_rejected_error("it is damaged") from None
    if not (isinstance(kind, str) and isinstance(bound, dict) and isinstance(place, dict)):
        raise cursor_rejected_error("it is damaged")
    return kind, bound, place


def _is_count(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and 0 <= found < _NUMBERS_BELOW


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(_CONTEXT + payload).digest()[:_CHECK_BYTES]
