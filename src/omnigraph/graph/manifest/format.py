"""The storage format's number, its bounds, and the check that everything read must pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from omnigraph.base.errors import CorruptState, FormatTooNew, FormatTooOld, OmniError

OLDEST = 1
CURRENT = 1

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
    """Parse one of our JSON objects, check its format, and build the value."""
    try:
        content = json.loads(data)
        check(content["format"], what)
        return build(content)
    except OmniError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorruptState(
            f"{what} cannot be read: {error!r}; restore it from a backup", path=what
        ) from error


def encode(content: Mapping[str, Any]) -> bytes:
    """Return an object as compact JSON, stamped with the current format."""
    return json.dumps({"format": CURRENT, **content}, separators=(",", ":"), ensure_ascii=False).encode()
