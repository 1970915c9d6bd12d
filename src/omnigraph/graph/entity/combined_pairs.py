"""What a commit notes of nodes that it combined, and what that says of one of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from omnigraph.base.plain import read_json
from omnigraph.graph.entity.stored import EntityAddress

NOTE = "same.ids"
"""The name of the note in the metadata of a commit."""


@dataclass(frozen=True, slots=True)
class CombinedPair:
    """A node that went into another of its type."""

    identity: str
    """Of the table."""
    gone: str
    kept: str


def write_note(pairs: Iterable[CombinedPair]) -> dict[str, str]:
    """Return what a commit notes."""
    told = [[pair.identity, pair.gone, pair.kept] for pair in pairs]
    return {NOTE: json.dumps(told, ensure_ascii=False, separators=(",", ":"))} if told else {}


def read_note(metadata: Mapping[str, str]) -> tuple[CombinedPair, ...]:
    """Return which nodes a commit says that it combined; nothing where somebody else has written the note."""
    if NOTE not in metadata:
        return ()
    try:
        return tuple(CombinedPair(*map(str, pair)) for pair in read_json(metadata[NOTE]))
    except (ValueError, TypeError):
        return ()


def find_kept(metadata: Mapping[str, str], key: EntityAddress) -> str | None:
    """Return what a node went into."""
    found = (
        pair.kept for pair in read_note(metadata) if (pair.identity, pair.gone) == (key.identity, key.id)
    )
    return next(found, None)


def list_gone(metadata: Mapping[str, str], key: EntityAddress) -> tuple[str, ...]:
    """Return what went into a node."""
    return tuple(
        pair.gone for pair in read_note(metadata) if (pair.identity, pair.kept) == (key.identity, key.id)
    )
