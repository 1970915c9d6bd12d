"""The process that keeps the workers of a server: whom it replaces, and whom not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, getsignal, signal
from socket import socket

import pytest
from uvicorn import Config
from uvicorn.supervisors.multiprocess import Process

from omnigraph.base import clock
from omnigraph.server.supervision import Supervisor

HEALTH_SECONDS = 60


class Hands(clock.Clock):
    """A clock that goes on when it is told to."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@contextmanager
def supervising(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Supervisor, Process, Hands]]:
    """Yield a supervisor, a worker that answers nobody by itself, and the clock."""
    hands, before = Hands(), {number: getsignal(number) for number in (SIGINT, SIGTERM)}
    monkeypatch.setattr(clock, "_current", hands)
    config = Config("none:none", workers=1, timeout_worker_healthcheck=HEALTH_SECONDS)
    supervisor = Supervisor(config, list[socket](), 1.0)
    worker = Process(config, [])
    try:
        yield supervisor, worker, hands
    finally:
        for number, handler in before.items():
            signal(number, handler)
        worker.parent_conn.close()
        worker.child_conn.close()


def test_a_worker_that_does_not_answer_in_time_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    with supervising(monkeypatch) as (supervisor, worker, hands):
        assert not supervisor._hangs(worker)
        hands.seconds = HEALTH_SECONDS
        assert not supervisor._hangs(worker)
        hands.seconds = HEALTH_SECONDS + 1
        assert supervisor._hangs(worker)


def test_an_answer_counts_though_it_is_looked_at_late(monkeypatch: pytest.MonkeyPatch) -> None:
    with supervising(monkeypatch) as (supervisor, worker, hands):
        assert not supervisor._hangs(worker)
        worker.child_conn.send(True)
        hands.seconds = 10 * HEALTH_SECONDS  # this process stood still, as in a paused container
        assert not supervisor._hangs(worker)


def test_nobody_is_replaced_once_the_server_is_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    with supervising(monkeypatch) as (supervisor, worker, _):
        supervisor.processes = [worker]  # that is dead, as all are after Ctrl-C in a terminal
        supervisor.should_exit.set()
        supervisor.keep_subprocess_alive()
        assert supervisor.processes == [worker]
