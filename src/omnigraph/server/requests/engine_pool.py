"""Calls of the engine in threads beside the event loop; they stop when nobody waits for them any more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, TypeVar

from omnigraph.base.cancellation import watch
from omnigraph.base.telemetry import measure
from omnigraph.server.context import RequestState, current_request
from omnigraph.server.limits import RequestLimits
from omnigraph.server.requests.admission import Admission
from omnigraph.server.requests.repeats import Repeats

_Answer = TypeVar("_Answer")


class EnginePool:
    """The threads of a worker: reads and writes have their own, so that neither waits for the other."""

    def __init__(self, limits: RequestLimits, state: Path) -> None:
        self.limits = limits
        self.repeats = Repeats(state)
        self.admission = Admission(limits)
        self.running: Counter[str] = Counter()
        """How many calls of each kind are in a thread, or wait for one."""
        self._reads = ThreadPoolExecutor(limits.threads, thread_name_prefix="omnigraph-read")
        self._writes = ThreadPoolExecutor(limits.threads, thread_name_prefix="omnigraph-write")

    async def run(self, call: Callable[..., _Answer], *args: Any, writes: bool = False) -> _Answer:
        """Return what a call returns. It stops at its next checkpoint when the request is given up.

        A call that has not begun by then never does. Reads and staging have checkpoints; a publish has none,
        so that it is carried out to its end or not at all.
        """
        request = current_request()
        assert request is not None, "only a request is worked for"
        pool, kind = (self._writes, "write") if writes else (self._reads, "read")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Answer] = loop.create_future()
        context = copy_context()

        def work() -> None:
            answer, error = None, None
            try:
                answer = context.run(_call_watched, request, call, args)
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the server has stopped, and its loop with it
                loop.call_soon_threadsafe(self._end, kind, future, answer, error)

        pool.submit(work)
        self.running[kind] += 1
        try:
            return await future
        except asyncio.CancelledError:
            request.gone.set()
            raise

    def _end(self, kind: str, future: asyncio.Future[Any], answer: Any, error: BaseException | None) -> None:
        self.running[kind] -= 1
        if future.cancelled():
            return
        if error is None:
            future.set_result(answer)
        else:
            future.set_exception(error)

    def close(self) -> None:
        """Let threads end when they have nothing to do."""
        for pool in (self._reads, self._writes):
            pool.shutdown(wait=False, cancel_futures=True)


def _call_watched(request: RequestState, call: Callable[..., _Answer], args: tuple[Any, ...]) -> _Answer:
    # A StopIteration would be lost in a future: calls here never raise it.
    with watch(request.check), measure() as counts:
        try:
            request.check()
            return call(*args)
        finally:
            request.storage.update(counts.as_dict())


_pool: ContextVar[EnginePool] = ContextVar("omnigraph_pool")


def enter_pool(pool: EnginePool) -> None:
    """Make a pool the one in which this task calls the engine."""
    _pool.set(pool)


def current_pool() -> EnginePool:
    """Return the pool in which this task calls the engine."""
    return _pool.get()
