"""Computed values as the type that they share with others has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.compiler.functions.overload import I64_MAX
from omnigraph.compiler.functions.registry import Failed
from omnigraph.compiler.types import PropertyType, Scalar


def fit_value(item: Any, type_: PropertyType) -> Any:
    """Return a plain value as a type has it: integers as floats, and no integer that an I64 cannot hold."""
    if type(item) is not int:
        return item
    if type_.scalar.is_float:
        return float(item)
    beyond = type_.scalar is Scalar.I64 and item > I64_MAX
    return Failed("the result exceeds the range of I64") if beyond else item


def make_list(items: Sequence[Any], type_: PropertyType) -> Any:
    """Return the members of a list; of one as a vector NULL, or why it failed, if a member is so.

    A member that could not be computed stays what it is, so that only who reads it has no result.
    """
    if type_.is_vector:
        lacking = [item for item in items if item is None or isinstance(item, Failed)]
        if lacking:
            return next((item for item in lacking if item is not None), None)
    return tuple(fit_value(item, type_) for item in items)


def drop_failed(found: Any) -> Any:
    """Return a computed value, and each member of a list, with NULL for what could not be computed."""
    if isinstance(found, Failed):
        return None
    if isinstance(found, tuple) and any(isinstance(item, Failed) for item in found):
        return tuple(None if isinstance(item, Failed) else item for item in found)
    return found


def find_failed(found: Any) -> Failed | None:
    """Return why a value, or a member of a list, could not be computed; None if it could."""
    parts = found if isinstance(found, tuple) else (found,)
    return next((item for item in parts if isinstance(item, Failed)), None)
