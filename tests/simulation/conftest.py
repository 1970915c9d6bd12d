"""Warm processes for the simulations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.workers import Worker, Workers


@pytest.fixture(scope="session")
def all_workers() -> Iterator[Workers]:
    """The processes of the whole session."""
    workers = Workers()
    yield workers
    workers.close()


@pytest.fixture
def workers(all_workers: Workers) -> Iterator[Workers]:
    """Fresh processes; those that a test takes end with it."""
    yield all_workers
    all_workers.release_taken()


@pytest.fixture
def worker(workers: Workers) -> Worker:
    """One fresh process."""
    return workers.take()
