"""Conditions that are put together, with what is known to be true or false left out."""

from __future__ import annotations

from omnigraph.compiler.ir.conditions import All, Any, Condition

KnownCondition = Condition | bool
"""A condition, or what is known of every row."""


def all_of(*terms: KnownCondition) -> KnownCondition:
    """Return what is true when every term is."""
    if any(term is False for term in terms):
        return False
    kept = _distinct(term for term in terms if not isinstance(term, bool))
    return True if not kept else kept[0] if len(kept) == 1 else All(kept)


def any_of(*terms: KnownCondition) -> KnownCondition:
    """Return what is true when at least one term is."""
    if any(term is True for term in terms):
        return True
    kept = _distinct(term for term in terms if not isinstance(term, bool))
    return False if not kept else kept[0] if len(kept) == 1 else Any(kept)


def _distinct(terms: object) -> tuple[Condition, ...]:
    return tuple(dict.fromkeys(terms))  # type: ignore[call-overload]
