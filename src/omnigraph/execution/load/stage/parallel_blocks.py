"""Blocks of lines on the quick way, several at a time, in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache

import pyarrow as pa

from omnigraph.execution.load.parse.fast_json import Doubt, QuickRows
from omnigraph.execution.load.sources.line_files import Lines

Read = tuple[Lines, list[QuickRows] | None]
"""A block and its rows; None for one that the strict reader must look at."""
Quickly = Callable[[Lines], list[QuickRows]]
"""The quick way through a block; it raises Doubt."""


def read_ahead(quickly: Quickly, blocks: Iterable[Lines]) -> Iterator[Read]:
    """Yield every block with its rows, while as many of the next as there are cores are being read."""
    cores = pa.cpu_count()
    if cores == 1:
        yield from ((block, _rows(quickly, block)) for block in blocks)
        return
    reading: deque[tuple[Lines, Future[list[QuickRows] | None]]] = deque()
    for block in blocks:
        reading.append((block, _threads(cores).submit(copy_context().run, _rows, quickly, block)))
        if len(reading) > cores:
            first, found = reading.popleft()
            yield first, found.result()
    for first, found in reading:
        yield first, found.result()


def _rows(quickly: Quickly, block: Lines) -> list[QuickRows] | None:
    try:
        return quickly(block)
    except Doubt:
        return None


@cache
def _threads(cores: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores, thread_name_prefix="omnigraph-lines")
