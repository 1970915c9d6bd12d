"""The storage format's number and bounds, and the checksum that every control object ends with.

A control object is one JSON object whose last field, `sum`, is the hash of its path and of everything before
it. It is still plain JSON to other tools; not a byte of it can change unnoticed, and no object can stand in
for another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from omnigraph.base.errors import CorruptState, FormatTooNew, FormatTooOld, OmniError
from omnigraph.base.plain import from_plain, read_json, to_plain

OLDEST = 3
CURRENT = 3

_FIELD = b',"sum":"'
_END = b'"}'
_DIGEST_BYTES = 16
_SUM_LENGTH = len(_FIELD) + 2 * _DIGEST_BYTES + len(_END)

Decoded = TypeVar("Decoded")


def check(found: object, what: str, path: str) -> None:
    """Refuse a format outside the bounds of this release."""
    if not isinstance(found, int) or isinstance(found, bool):
        raise CorruptState(f"{what} has no format number: it is not OmniGraph's, or it is damaged", path=path)
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


def decode(data: bytes, path: str, what: str, build: Callable[[Mapping[str, Any]], Decoded]) -> Decoded:
    """Parse one of our JSON objects, check its format and its sum, and build the value."""
    try:
        content = read_json(data)
        check(content["format"], f"{what} {path}", path)
        digest_of(data, path, what)
        return build(content)
    except OmniError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise CorruptState(
            f"{what} {path} cannot be read: {error!r}; restore it from a backup", path=path
        ) from error


def encode(content: Mapping[str, Any], path: str) -> bytes:
    """Return an object as compact JSON, with the current format and the sum that it has at a path."""
    text = json.dumps({"format": CURRENT, **content}, separators=(",", ":"), ensure_ascii=False)
    body = text.encode().removesuffix(b"}")
    return body + _FIELD + _hash(path, body).encode() + _END


def encode_value(value: object, path: str) -> bytes:
    """Return a dataclass as the object that is stored at a path."""
    return encode(to_plain(value), path)


def decode_value(data: bytes, path: str, what: str, cls: type[Decoded]) -> Decoded:
    """Build a dataclass from the object that is stored at a path."""
    return decode(data, path, what, partial(from_plain, cls))


def digest_in(data: bytes) -> str:
    """Return the sum that an object ends with which was just encoded."""
    return data[-len(_END) - 2 * _DIGEST_BYTES : -len(_END)].decode()


def digest_of(data: bytes, path: str, what: str) -> str:
    """Return the sum that an object at a path ends with, or raise when its bytes do not have it."""
    body, end = data[:-_SUM_LENGTH], data[-_SUM_LENGTH:]
    digest = _hash(path, body)
    if end != _FIELD + digest.encode() + _END:
        raise CorruptState(
            f"{what} {path} is damaged: its checksum does not match its content and place; "
            "restore it from a backup",
            path=path,
        )
    return digest


def _hash(path: str, data: bytes) -> str:
    return hashlib.blake2b(path.encode() + b"\n" + data, digest_size=_DIGEST_BYTES).hexdigest()
