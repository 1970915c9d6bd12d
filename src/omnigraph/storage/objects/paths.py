"""Which paths an object may have."""

from __future__ import annotations

import re

from omnigraph.base.errors import InvalidName

RESERVED = ".og"
"""The folder of the local store's own files; no object lies in it."""

_WRONG = re.compile(r"[\x00-\x1f\x7f]|//|\A/|/\Z|(?:\A|/)\.(?:\.|og)?(?:/|\Z)|\A\Z")


def check_path(path: str) -> None:
    """Raise `InvalidName` unless an object may have this path."""
    if _WRONG.search(path):
        raise InvalidName(
            f"{path!r} is not a path of an object: use non-empty segments joined by '/', without '.', '..', "
            f"control characters or the reserved segment {RESERVED!r}",
            path=path,
        )


def check_prefix(prefix: str) -> str:
    """Return a prefix without its trailing slash, or raise `InvalidName`; the empty one is the root."""
    bare = prefix.removesuffix("/")
    if bare:
        check_path(bare)
    return bare
