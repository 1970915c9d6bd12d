"""A provider over HTTP, and a clock that does not wait."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from omnigraph.base import clock
from support.embedding_server import EmbeddingServer, running_embedding_server


class QuickClock(clock.Clock):
    """The real clock, but a sleep is only noted, and moves the clock on."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return super().monotonic() + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture(autouse=True)
def no_ambient_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own keys and providers out of the tests."""
    for name in list(os.environ):
        if name.startswith("OMNIGRAPH_EMBEDDING") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running_embedding_server() as running:
        yield running


@pytest.fixture
def quick() -> Iterator[QuickClock]:
    installed = QuickClock()
    before = clock.install(installed)
    yield installed
    clock.install(before)
