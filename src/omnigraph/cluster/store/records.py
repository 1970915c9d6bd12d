"""Stored JSON of one version: how it is written, and refused when it is not as it was left."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from omnigraph.base.errors import CorruptState, FormatTooNew
from omnigraph.base.plain import from_plain, read_json

VERSION = 1
_Record = TypeVar("_Record")


def encode_record(data: dict[str, Any]) -> bytes:
    """Return a record as it is stored, for people to read as well."""
    return (json.dumps({"version": VERSION, **data}, ensure_ascii=False, indent=1) + "\n").encode()


def decode_record(data: bytes, path: str) -> dict[str, Any]:
    """Return what a stored record holds."""
    try:
        found = read_json(data)
    except ValueError as error:
        raise CorruptState(f"{path} is not JSON: {error}", path=path) from error
    version = found.get("version") if isinstance(found, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise CorruptState(f"{path} does not say its version", path=path)
    if version > VERSION:
        raise FormatTooNew(
            f"{path} has version {version}, and this release reads {VERSION}: upgrade OmniGraph",
            found=version,
            supported=VERSION,
        )
    return dict(found)


def build_record(kind: type[_Record], data: Any, path: str) -> _Record:
    """Return a stored value as a dataclass, or say that it is damaged."""
    try:
        return from_plain(kind, data)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise CorruptState(f"{path} is damaged: {error}", path=path) from error
