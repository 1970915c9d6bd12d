"""Counters: of this thread and what it causes, nested, and free when nobody measures."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from omnigraph.base import telemetry


def test_a_block_counts_what_happens_inside_it() -> None:
    telemetry.count("a")
    with telemetry.measure() as counts:
        telemetry.count("a")
        telemetry.count("b", 3)
    telemetry.count("a")
    assert counts.as_dict() == {"a": 1, "b": 3}
    assert (counts["a"], counts["never"]) == (1, 0)


def test_measurements_nest() -> None:
    with telemetry.measure() as outer:
        telemetry.count("a")
        with telemetry.measure() as inner:
            telemetry.count("a")
    assert (outer["a"], inner["a"]) == (2, 1)


def test_a_total_can_be_limited_to_a_prefix() -> None:
    with telemetry.measure() as counts:
        telemetry.count("objects.get", 2)
        telemetry.count("objects.put")
        telemetry.count("tables.open")
    assert (counts.total("objects."), counts.total()) == (3, 4)


def test_a_counter_of_zero_is_not_shown() -> None:
    with telemetry.measure() as counts:
        telemetry.count("a", 0)
    assert counts.as_dict() == {}
    assert repr(counts) == "Counters({})"


def test_a_block_does_not_count_what_other_threads_do() -> None:
    with telemetry.measure() as counts:
        other = threading.Thread(target=telemetry.count, args=("a",))
        other.start()
        other.join()
    assert counts["a"] == 0


def test_a_thread_in_a_copied_context_counts_for_the_block_that_started_it() -> None:
    with telemetry.measure() as counts:
        workers = [
            threading.Thread(
                target=contextvars.copy_context().run,
                args=(lambda: [telemetry.count("a") for _ in range(1000)],),
            )
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert counts["a"] == 4000


def test_tasks_count_for_the_block_that_started_them_and_not_for_each_other() -> None:
    async def task(amount: int) -> int:
        with telemetry.measure() as mine:
            await asyncio.sleep(0)
            telemetry.count("a", amount)
            await asyncio.sleep(0)
        return mine["a"]

    async def run() -> tuple[list[int], int]:
        with telemetry.measure() as counts:
            each = await asyncio.gather(task(1), task(2))
        return list(each), counts["a"]

    assert asyncio.run(run()) == ([1, 2], 3)


def test_counting_does_nothing_when_nobody_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[object] = []
    with telemetry.measure() as counts:
        pass
    monkeypatch.setattr(telemetry.Counters, "add", lambda *told: added.append(told))
    telemetry.count("a")
    assert (added, counts["a"]) == ([], 0)
