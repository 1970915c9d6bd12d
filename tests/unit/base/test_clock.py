"""The clock: the system's, or a seeded one that only moves when asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from omnigraph.base import clock
from omnigraph.base.clock import Clock
from support.seeded_clock import SeededClock


@pytest.fixture(autouse=True)
def the_clock_before() -> Iterator[None]:
    before = clock.current()
    yield
    clock.install(before)


def test_the_system_clock_tells_the_time_in_microseconds() -> None:
    assert abs(Clock().now_us() - time.time() * 1e6) < 5e6


def test_the_system_clock_waits_and_never_goes_back() -> None:
    started = Clock().monotonic()
    Clock().sleep(0.01)
    assert Clock().monotonic() - started >= 0.01


def test_the_systems_randomness_is_fresh() -> None:
    assert Clock().random_bytes(16) != Clock().random_bytes(16)
    assert 0 <= Clock().jitter() < 1


def history(seed: int) -> list[object]:
    seeded = SeededClock(seed)
    seeded.sleep(2.5)
    return [seeded.now_us(), seeded.monotonic(), seeded.random_bytes(8), seeded.jitter()]


def test_one_seed_gives_one_history() -> None:
    assert history(7) == history(7)
    assert history(7) != history(8)


def test_a_seeded_clock_moves_without_waiting() -> None:
    seeded = SeededClock(1)
    started, seeded_start = time.monotonic(), seeded.monotonic()
    seeded.sleep(3600)
    assert time.monotonic() - started < 60
    assert seeded.monotonic() - seeded_start >= 3600


def test_no_two_moments_of_a_seeded_clock_are_equal() -> None:
    seeded = SeededClock(1)
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: seen.extend(seeded.now_us() for _ in range(500))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 2000


def test_installing_a_clock_returns_the_one_before() -> None:
    seeded = SeededClock(1)
    before = clock.install(seeded)
    assert clock.current() is seeded
    assert clock.install(before) is seeded
    assert clock.current() is before
