"""The ids inside small data files, remembered. A data file never changes, so none is read twice."""

from __future__ import annotations

from typing import Any

from omnigraph.base.lru import Lru
from omnigraph.storage.format.version_files import path_of

MAX_KEPT_ROWS = 4_096
"""Rows of the largest fragment whose ids are kept."""
_CACHED_IDS = 262_144

Key = tuple[str, ...]


def files_of(table_uri: str, fragment: Any) -> Key:
    """Return the key of a fragment (Lance's metadata): its table and its files, whose names are random."""
    return (table_uri, *map(path_of, fragment.files))


known: Lru[Key, frozenset[str]] = Lru(_CACHED_IDS, len)
"""Every id that files hold, deleted or not, for all tables of this process; the capacity counts ids."""
