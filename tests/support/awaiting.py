"""Asynchronous handles used as plain ones, so that what is said of those can be asked of them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

from omnigraph.sdk.aio.twins import AsyncRows, Awaited, Twin


class Awaiting:
    """An asynchronous handle whose answers are awaited for whoever asks."""

    def __init__(self, twin: Any, runner: asyncio.Runner) -> None:
        self._twin, self._runner = twin, runner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            return getattr(self._twin._behind, name)
        return plain(getattr(self._twin, name), self._runner)

    def __repr__(self) -> str:
        text = repr(self._twin)
        assert text.startswith("Async")
        return text.removeprefix("Async")

    def __call__(self, *args: Any, **given: Any) -> Any:
        return plain(_call(self._twin, args, given, self._runner), self._runner)

    def __iter__(self) -> Iterator[Any]:
        return _items(aiter(self._twin), self._runner)

    def __bool__(self) -> bool:
        return bool(self._twin._behind)

    def __enter__(self) -> Awaiting:
        return Awaiting(_run(self._runner, self._twin.__aenter__()), self._runner)

    def __exit__(self, *error: object) -> None:
        _run(self._runner, self._twin.__aexit__(*error))


def plain(found: Any, runner: asyncio.Runner) -> Any:
    """Return what was found without anything that must be awaited."""
    if isinstance(found, Twin):
        return Awaiting(found, runner)
    if isinstance(found, Awaited):
        return plain(_run(runner, found), runner)
    if isinstance(found, AsyncRows):
        return _items(found, runner)
    if inspect.iscoroutinefunction(found):
        return lambda *args, **given: plain(_call(found, args, given, runner), runner)
    return found


def _call(method: Any, args: Any, given: Any, runner: asyncio.Runner) -> Any:
    bare = [item._twin if isinstance(item, Awaiting) else item for item in args]
    named = {name: item._twin if isinstance(item, Awaiting) else item for name, item in given.items()}
    return _run(runner, method(*bare, **named))


def _run(runner: asyncio.Runner, awaited: Any) -> Any:
    async def wait() -> Any:
        return await awaited

    return runner.run(wait())


def _items(rows: Any, runner: asyncio.Runner) -> Iterator[Any]:
    try:
        while True:
            try:
                yield _run(runner, anext(rows))
            except StopAsyncIteration:
                return
    finally:
        _run(runner, rows.aclose())
