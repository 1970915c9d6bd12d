"""Dataclasses of this package whose making compiles little.

A frozen dataclass is six functions, and before Python 3.13 each is compiled from text by itself: a fifth of
a millisecond for one class, a tenth of a second for all that a first query needs. Here only `__init__` is
compiled; the others are closures over the names of the fields, which say and do the same. Classes of other
packages are made as ever.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

_PACKAGE = "omnigraph"
_FIRST_THAT_COMPILES_ONCE = (3, 13)
_PARTS = ("_process_class", "_repr_fn", "_cmp_fn", "_hash_fn", "_frozen_get_del_attr")
_making = threading.local()

_Read = Callable[[Any], tuple[Any, ...]]


def make_dataclasses_lean() -> None:
    """Let the dataclasses of this package be made so, where Python's own way is the slow one."""
    known = all(hasattr(dataclasses, name) for name in _PARTS)
    if sys.version_info >= _FIRST_THAT_COMPILES_ONCE or not known or hasattr(_making, "installed"):
        return
    _making.installed = True
    process = dataclasses._process_class  # type: ignore[attr-defined]

    def process_class(cls: type, *given: Any, **named: Any) -> type:
        before = getattr(_making, "is_ours", False)
        _making.is_ours = cls.__module__.partition(".")[0] == _PACKAGE
        try:
            made: type = process(cls, *given, **named)
            return made
        finally:
            _making.is_ours = before

    _replace("_process_class", process_class)
    for name, lean in (
        ("_repr_fn", _show),
        ("_cmp_fn", _compare),
        ("_hash_fn", _hash),
        ("_frozen_get_del_attr", _freeze),
    ):
        _replace(name, _choose(getattr(dataclasses, name), lean))


def _replace(name: str, function: Callable[..., Any]) -> None:
    setattr(dataclasses, name, function)


def _choose(plain: Callable[..., Any], lean: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes ours in the lean way, where that can make them."""

    def make(*given: Any, **named: Any) -> Any:
        made = lean(*given, **named) if getattr(_making, "is_ours", False) else None
        return plain(*given, **named) if made is None else made

    return make


def _reader(names: Sequence[str]) -> _Read:
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _value: ()
    read = attrgetter(names[0])
    return lambda value: (read(value),)


def _show(fields: Sequence[dataclasses.Field[Any]], *_rest: Any, **_named: Any) -> Callable[..., Any]:
    names = [item.name for item in fields]

    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    made: Callable[..., Any] = dataclasses._recursive_repr(__repr__)  # type: ignore[attr-defined]
    return made


def _compare(
    _name: str, operator: str, mine: str, _theirs: str, *_rest: Any, **_named: Any
) -> Callable[..., Any] | None:
    if operator != "==":
        return None
    read = _reader([item.partition(".")[2] for item in mine.strip("()").split(",") if item])

    def __eq__(self: Any, other: Any) -> Any:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(fields: Sequence[dataclasses.Field[Any]], *_rest: Any, **_named: Any) -> Callable[..., Any]:
    read = _reader([item.name for item in fields])

    def __hash__(self: Any) -> int:
        return hash(read(self))

    return __hash__


def _freeze(
    cls: type[Any], fields: Sequence[dataclasses.Field[Any]], *_rest: Any
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    names = frozenset(item.name for item in fields)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__
