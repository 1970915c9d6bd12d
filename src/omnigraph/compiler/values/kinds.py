"""Words for JSON and Python values in messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kind_of(value: Any) -> str:
    """Return the JSON word for a value's kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float):
        return "a float"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return "an array"
    return "an object" if isinstance(value, Mapping) else f"a Python {type(value).__name__}"


def show_integer(value: int) -> str:
    """Return an integer for a message, unless its digits would fill it."""
    return str(value) if -(2**80) < value < 2**80 else "the integer"
