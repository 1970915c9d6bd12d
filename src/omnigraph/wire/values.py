"""Answers as JSON, and back: what a class has in process it has after a journey, by its fields and types.

Whole numbers beyond ±(2^53 - 1), which many readers of JSON would round, are strings; so are infinite and
undefined floats. A caller that reads integers of any size says so, and gets them. Datetimes are ISO 8601 in
UTC, bytes `base64:` strings. A class is an object of its fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from omnigraph.base.blob_text import blob_from_text, blob_to_text

LARGEST_EXACT_INTEGER = 2**53 - 1
_exact: ContextVar[bool] = ContextVar("exact", default=False)


@contextmanager
def exact_values() -> Iterator[None]:
    """Write whole numbers of any size as numbers inside the block: the caller reads them."""
    token = _exact.set(True)
    try:
        yield
    finally:
        _exact.reset(token)


def are_exact() -> bool:
    """Return whether the caller of now reads numbers of any size and marks values in what it sends."""
    return _exact.get()


def encode(value: Any) -> Any:
    """Return a value as JSON data."""
    if value is None or isinstance(value, str | bool):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_EXACT_INTEGER or are_exact() else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return blob_to_text(value)
    if isinstance(value, Enum):
        return encode(value.value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: encode(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(encode(item) for item in value)
    if isinstance(value, Sequence):
        return [encode(item) for item in value]
    return str(value)


def decode(hint: Any, data: Any) -> Any:
    """Return the value of a type that JSON data stands for."""
    if data is None or hint is Any or hint is object:
        return data
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        return _decode_union([item for item in get_args(hint) if item is not NoneType], data)
    if origin is Literal or not isinstance(origin, type):
        return data
    if is_dataclass(origin):
        hints = _hints(origin)
        return origin(**{name: decode(hints[name], item) for name, item in data.items() if name in hints})
    return _decode_plain(origin, get_args(hint), data)


def _decode_plain(origin: type, given: tuple[Any, ...], data: Any) -> Any:
    if origin is int or origin is float:
        return origin(data)
    if origin is datetime:
        return datetime.fromisoformat(data)
    if origin is date:
        return date.fromisoformat(data)
    if origin is bytes:
        return blob_from_text(data)
    if issubclass(origin, Enum):
        return origin(data)
    if issubclass(origin, Mapping):
        return {key: decode(given[1] if given else Any, item) for key, item in data.items()}
    if issubclass(origin, str) or not isinstance(data, list):
        return data
    items = [decode(given[0] if given else Any, item) for item in data]
    if issubclass(origin, AbstractSet):
        return frozenset(items)
    return items if issubclass(origin, list) else tuple(items)


def _decode_union(members: list[Any], data: Any) -> Any:
    """Return the value of the one member that is not None; of several the data decides nothing."""
    return decode(members[0], data) if len(members) == 1 else data


@cache
def _hints(cls: type) -> dict[str, Any]:
    known = get_type_hints(cls)
    return {item.name: known[item.name] for item in fields(cls) if item.init}
