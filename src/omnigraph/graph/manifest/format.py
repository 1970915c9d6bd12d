"""The storage format's number and bounds, and the checksum that every control object ends with.

A control object is one JSON object whose last field, `sum`, is the hash of everything before it. It is still
plain JSON to other tools, and not a byte of it can change unnoticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from omnigraph.base.errors import CorruptState, FormatTooNew, FormatTooOld, OmniError

OLDEST = 2
CURRENT = 2

_FIELD = b',"sum":"'
_END = b'"}'
_DIGEST_BYTES = 16
_SUM_LENGTH = len(_FIELD) + 2 * _DIGEST_BYTES + len(_END)

Decoded = TypeVar("Decoded")


def check(found: object, what: str) -> None:
    """Refuse a format outside the bounds of this release."""
    if not isinstance(found, int) or isinstance(found, bool):
        raise CorruptState(f"{what} has no format number: it is not OmniGraph's, or it is damaged", path=what)
    if found > CURRENT:
        raise FormatTooNew(
            f"{what} has format {found}, this release reads up to {CURRENT}: upgrade OmniGraph",
            found=found,
            supported=CURRENT,
        )
    if found < OLDEST:
        raise FormatTooOld(
            f"{what} has format {found}, this release reads from {OLDEST}: "
            "export the graph with the release that wrote it and load it again",
            found=found,
            supported=OLDEST,
        )


def decode(data: bytes, what: str, build: Callable[[Mapping[str, Any]], Decoded]) -> Decoded:
    """Parse one of our JSON objects, check its format and its sum, and build the value."""
    try:
        content = json.loads(data)
        check(content["format"], what)
        digest_of(data, what)
        return build(content)
    except OmniError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorruptState(
            f"{what} cannot be read: {error!r}; restore it from a backup", path=what
        ) from error


def encode(content: Mapping[str, Any]) -> bytes:
    """Return an object as compact JSON, with the current format and its sum."""
    text = json.dumps({"format": CURRENT, **content}, separators=(",", ":"), ensure_ascii=False)
    body = text.encode().removesuffix(b"}")
    return body + _FIELD + _hash(body).encode() + _END


def digest_of(data: bytes, what: str) -> str:
    """Return the sum that an encoded object ends with, or raise when its bytes do not have it."""
    body, end = data[:-_SUM_LENGTH], data[-_SUM_LENGTH:]
    digest = _hash(body)
    if end != _FIELD + digest.encode() + _END:
        raise CorruptState(
            f"{what} is damaged: its checksum does not match its content; restore it from a backup", path=what
        )
    return digest


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
