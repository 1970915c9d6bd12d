"""Making the asynchronous twin of a class: every public method awaited, and what it returns wrapped likewise.

A twin knows nothing of how the object behind it does its work, whether on storage or over a network.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
from functools import cached_property, wraps
from itertools import islice
from typing import Any, Generic, Self, TypeVar

from omnigraph.sdk.aio.threads import Threads
from omnigraph.sdk.queries.prepared import PreparedQuery

_Item = TypeVar("_Item")

TWINS: dict[type, type[Twin]] = {}
"""The twins by what they are twins of."""


class Twin:
    """An object whose methods are awaited; the work is done by another in threads."""

    _items_at_once = 1
    """How many items of an iteration are fetched at a time."""

    def __init__(self, behind: Any, threads: Threads) -> None:
        """Stand for an object."""
        self._behind = behind
        self._threads = threads

    def __repr__(self) -> str:
        return f"Async{self._behind!r}"


class AsyncPreparedQuery(Twin):
    """A checked read query of a graph; its calls are awaited."""

    async def __call__(self, params: Mapping[str, Any] | None = None, **where: Any) -> Any:
        """Run the query."""
        return await _call(self, self._behind, params, **where)


class AsyncRows(AsyncIterator[_Item], Generic[_Item]):
    """The items of an iterator, fetched in a thread, some at a time."""

    def __init__(self, items: Iterator[_Item], threads: Threads, at_once: int) -> None:
        self._items = items
        self._threads = threads
        self._at_once = at_once
        self._fetched: list[_Item] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        if not self._fetched:
            found: list[_Item] = await self._threads.run(list, islice(self._items, self._at_once))
            self._fetched = found[::-1]
        if not self._fetched:
            raise StopAsyncIteration
        return self._fetched.pop()

    async def aclose(self) -> None:
        """Let go of what the iteration holds; it has ended then."""
        self._fetched = []
        if isinstance(self._items, Generator):
            await self._threads.run(self._items.close)
        self._items = iter(())


class Awaited:
    """A property whose value is looked up when it is awaited."""

    def __init__(self, twin: Twin, name: str) -> None:
        self._twin = twin
        self._name = name

    def __await__(self) -> Generator[Any, None, Any]:
        return _call(self._twin, lambda: getattr(self._twin._behind, self._name)).__await__()


ITEMS_AT_ONCE = 512
"""Records and changes that are fetched at a time."""


def make_twin(
    behind: type,
    name: str,
    *,
    plain: Collection[str] = (),
    parts: Collection[str] = (),
    hidden: Collection[str] = (),
    items_at_once: int = ITEMS_AT_ONCE,
) -> type[Twin]:
    """Return the twin of a class.

    Its methods are awaited, and so are its properties. The attributes named `plain` need no waiting, `parts`
    are objects with twins of their own, `hidden` what users do not call.
    """
    members: dict[str, Any] = {
        "__doc__": f"{behind.__doc__}\n\nThe twin of `{behind.__name__}`: its methods are awaited.",
        "__module__": "omnigraph.sdk.aio.handles",
        "_items_at_once": items_at_once,
    }
    for member in (*plain, *parts):
        members[member] = _attribute(member, member in parts, behind)
    for member in dir(behind):
        if member.startswith("_") or member in members or member in hidden:
            continue
        found = inspect.getattr_static(behind, member)
        is_value = isinstance(found, property | cached_property)
        members[member] = _value(member, found.__doc__) if is_value else _method(found)
    if hasattr(behind, "__iter__"):
        members["__aiter__"] = _iterate
    if hasattr(behind, "__enter__"):
        members |= {"__aenter__": _enter, "__aexit__": _leave}
    made = TWINS[behind] = type(name, (Twin,), members)
    return made


def wrap(found: Any, threads: Threads, at_once: int = ITEMS_AT_ONCE) -> Any:
    """Return the twin of what a call returned, or the thing itself when it needs no waiting."""
    kind = type(found)
    twin = TWINS.get(getattr(kind, "stands_for", kind))
    if twin is not None:
        return twin(found, threads)
    if isinstance(found, PreparedQuery):
        return AsyncPreparedQuery(found, threads)
    if isinstance(found, Iterator):
        return AsyncRows(found, threads, at_once)
    return found


def _unwrap(given: Any) -> Any:
    return given._behind if isinstance(given, Twin) else given


async def _call(twin: Twin, call: Callable[..., Any], *args: Any, **given: Any) -> Any:
    plain = [_unwrap(item) for item in args]
    named = {name: _unwrap(item) for name, item in given.items()}
    return wrap(await twin._threads.run(call, *plain, **named), twin._threads, twin._items_at_once)


def _method(found: Callable[..., Any]) -> Any:
    @wraps(found)
    async def method(self: Twin, *args: Any, **given: Any) -> Any:
        return await _call(self, getattr(self._behind, found.__name__), *args, **given)

    return method


def _value(name: str, text: str | None) -> property:
    return property(lambda twin: Awaited(twin, name), doc=text)


def _attribute(name: str, is_part: bool, behind: type) -> property:
    text = getattr(inspect.getattr_static(behind, name, None), "__doc__", None)
    if not is_part:
        return property(lambda twin: getattr(twin._behind, name), doc=text)
    return property(lambda twin: wrap(getattr(twin._behind, name), twin._threads), doc=text)


def _iterate(twin: Twin) -> AsyncRows[Any]:
    return AsyncRows(iter(twin._behind), twin._threads, twin._items_at_once)


async def _enter(twin: Twin) -> Twin:
    return twin


async def _leave(twin: Twin, *_: Any) -> None:
    await twin._threads.run(twin._behind.close)
