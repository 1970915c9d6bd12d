"""Blocks read by the fast path in parallel, yielded in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache

import pyarrow as pa

from omnigraph.execution.load.parse.fast_json import NeedsStrictReader
from omnigraph.execution.load.sources.source import LocatedRows, SourceBlock

Read = tuple[SourceBlock, list[LocatedRows] | None]
"""A block and its rows; None if the strict reader must read it."""


def read_ahead(blocks: Iterable[SourceBlock]) -> Iterator[Read]:
    """Yield every block with its rows, while threads, one for each core, read the next ones."""
    cores = pa.cpu_count()
    reading: deque[tuple[SourceBlock, Future[list[LocatedRows] | None]]] = deque()
    for block in blocks:
        is_ahead = cores > 1 and block.may_be_read_ahead
        if is_ahead:
            reading.append((block, _threads(cores).submit(copy_context().run, _rows, block)))
        while len(reading) > (cores if is_ahead else 0):
            first, found = reading.popleft()
            yield first, found.result()
        if not is_ahead:
            yield block, _rows(block)
    for first, found in reading:
        yield first, found.result()


def _rows(block: SourceBlock) -> list[LocatedRows] | None:
    try:
        return block.rows()
    except NeedsStrictReader:
        return None


@cache
def _threads(cores: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores, thread_name_prefix="omnigraph-lines")
