"""Calls that block, run in threads beside an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from omnigraph.base.cancellation import watch

_Answer = TypeVar("_Answer")


class CallStopped(Exception):
    """The task that awaited a call was cancelled; nobody is there to see this."""


class Threads:
    """The threads of one opened graph; they are started when they are needed."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = ThreadPoolExecutor(max(count, 1), thread_name_prefix="omnigraph-async")

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        """Be others where a handle is opened again."""
        return Threads, (self._count,)

    async def run(self, call: Callable[..., _Answer], *args: Any, **given: Any) -> _Answer:
        """Return what a call returns. When the task is cancelled, the call stops at its next checkpoint.

        A call that has not begun by then never does. Reads have checkpoints, and loads while they are read;
        what is staged is carried out to its end or not at all.
        """
        stopped = threading.Event()

        def check() -> None:
            if stopped.is_set():
                raise CallStopped

        def work() -> _Answer:
            with watch(check):
                return call(*args, **given)

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, copy_context().run, work)
        finally:
            stopped.set()
