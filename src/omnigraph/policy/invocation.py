"""Which stored query runs: what it reads and writes is allowed to those who may call it by its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_query: ContextVar[str | None] = ContextVar("omnigraph_stored_query", default=None)


@contextmanager
def invoke_as(query: str) -> Iterator[None]:
    """Let what is done in the block be done by a stored query."""
    token = _query.set(query)
    try:
        yield
    finally:
        _query.reset(token)


def current_query() -> str | None:
    """Return the name of the stored query that runs here."""
    return _query.get()
