"""Work on different tables at the same time; Lance waits and computes outside Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache

_THREADS = 16


def side_by_side(steps: Sequence[Callable[[], None]]) -> None:
    """Run steps that share no table, wait until all have ended, and raise the first error, if any."""
    if not steps:
        return
    others = [_threads().submit(copy_context().run, step) for step in steps[1:]]
    try:
        steps[0]()
    finally:
        wait(others)
    for other in others:
        other.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-tables")
