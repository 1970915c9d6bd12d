"""What a comment is about: a node, an edge, or a property of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnigraph.base.errors import BadInput


def read_entity(given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Return what a comment is about."""
    parts = ("type", "id", "property")
    named = dict(given) if isinstance(given, Mapping) else dict(zip(parts, given, strict=False))
    too_many = not isinstance(given, Mapping) and len(given) > len(parts)
    texts = all(isinstance(value, str) and value for value in named.values())
    if too_many or not texts or not {"type", "id"} <= set(named) <= set(parts):
        raise BadInput(f"entity is {given!r}: give a type and an id, and perhaps a property")
    return named
