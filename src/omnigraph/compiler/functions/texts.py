"""Functions of strings and lists; positions count from 0, in code points and members."""

from __future__ import annotations

from typing import Any

from omnigraph.compiler.functions.overload import (
    INTEGER,
    LIST,
    TEXT,
    NoResult,
    Overload,
    gives,
    gives_first,
    gives_member,
)
from omnigraph.compiler.types import Scalar

MAX_TEXT_CHARACTERS = 2**24
"""The longest string that a function makes, in characters."""
_TEXT, _COUNT, _TRUTH = gives(Scalar.STRING), gives(Scalar.I64), gives(Scalar.BOOL)


def _check_length(characters: int) -> None:
    if characters > MAX_TEXT_CHARACTERS:
        raise NoResult(f"the string exceeds {MAX_TEXT_CHARACTERS} characters")


def _join(left: str, right: str) -> str:
    _check_length(len(left) + len(right))
    return left + right


def _replace(text: str, old: str, new: str) -> str:
    if not old:
        return text
    _check_length(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _split(text: str, separator: str) -> tuple[str, ...]:
    if not separator:
        raise NoResult("split needs a separator that is not empty")
    return tuple(text.split(separator))


def _slice(whole: Any, start: int, count: int | None = None) -> Any:
    if start < 0 or (count is not None and count < 0):
        raise NoResult("a position or a length is negative")
    return whole[start:] if count is None else whole[start : start + count]


def _slice_list(members: Any, start: int, count: int | None = None) -> tuple[Any, ...]:
    return tuple(_slice(members, start, count))


def _item(members: Any, position: int) -> Any:
    """Return the member at a position; outside the list there is none, which is NULL."""
    return members[position] if 0 <= position < len(members) else None


TEXTS: dict[str, tuple[Overload, ...]] = {
    "+": (Overload((TEXT, TEXT), _TEXT, _join),),
    "lower": (Overload((TEXT,), _TEXT, str.lower),),
    "upper": (Overload((TEXT,), _TEXT, str.upper),),
    "trim": (Overload((TEXT,), _TEXT, str.strip),),
    "length": (Overload((TEXT,), _COUNT, len),),
    "substring": (
        Overload((TEXT, INTEGER), _TEXT, _slice),
        Overload((TEXT, INTEGER, INTEGER), _TEXT, _slice),
    ),
    "replace": (Overload((TEXT, TEXT, TEXT), _TEXT, _replace),),
    "split": (Overload((TEXT, TEXT), gives(Scalar.STRING, is_list=True), _split),),
    "ends_with": (Overload((TEXT, TEXT), _TRUTH, str.endswith),),
    "size": (Overload((LIST,), _COUNT, len),),
    "item": (Overload((LIST, INTEGER), gives_member, _item),),
    "slice": (
        Overload((LIST, INTEGER), gives_first, _slice_list),
        Overload((LIST, INTEGER, INTEGER), gives_first, _slice_list),
    ),
}
