"""Every operator and function by its name, and how one is applied to plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from omnigraph.compiler.functions.casts import CASTS
from omnigraph.compiler.functions.moments import MOMENTS
from omnigraph.compiler.functions.numbers import NUMBERS
from omnigraph.compiler.functions.overload import NoResult, Overload
from omnigraph.compiler.functions.texts import TEXTS
from omnigraph.compiler.functions.vectors import VECTORS
from omnigraph.compiler.types import PropertyType

COALESCE = "coalesce"
"""The function of its first argument that is not NULL; it takes any number of alike values."""
NEGATIVE, ITEM = "negative", "item"
"""What `-x` and `x[i]` call."""

_PARTS = (NUMBERS, TEXTS, MOMENTS, CASTS, VECTORS)
FUNCTIONS: dict[str, tuple[Overload, ...]] = {
    name: tuple(form for part in _PARTS for form in part.get(name, ())) for part in _PARTS for name in part
}
NAMES = frozenset(name for name in FUNCTIONS if name.isidentifier()) - {NEGATIVE, ITEM} | {COALESCE}
"""What can be called by a name."""


@dataclass(frozen=True, slots=True)
class Failed:
    """In place of a value that could not be computed; it counts as NULL, and cannot be stored."""

    reason: str


@lru_cache(maxsize=1024)
def find_overload(function: str, types: tuple[PropertyType, ...]) -> Overload | None:
    """Return the form of a function for arguments of these types; None if it takes no such arguments."""
    return next((form for form in FUNCTIONS.get(function, ()) if form.takes(types)), None)


def apply_to(function: str, types: tuple[PropertyType, ...]) -> Callable[[Sequence[Any]], Any]:
    """Return how a call is computed from arguments of these types.

    It gives NULL for a NULL argument, and Failed where there is no result.
    """
    if function == COALESCE:
        return _choose_first
    form = find_overload(function, types)
    assert form is not None, "the types of a checked call fit"
    compute = form.compute

    def apply(arguments: Sequence[Any]) -> Any:
        for item in arguments:
            if item is None or type(item) is Failed:
                return next((other for other in arguments if isinstance(other, Failed)), None)
        try:
            return compute(*arguments)
        except NoResult as reason:
            return Failed(str(reason))

    return apply


def _choose_first(arguments: Sequence[Any]) -> Any:
    """Return the first value; without one NULL, or why it could not be computed."""
    failed = None
    for item in arguments:
        if isinstance(item, Failed):
            failed = failed or item
        elif item is not None:
            return item
    return failed
