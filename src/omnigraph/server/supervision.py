"""Keeping the workers of a server: who dies is replaced, and a signal is heard whatever the workers do."""

from __future__ import annotations

import logging
from socket import socket

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from omnigraph.base import clock

_log = logging.getLogger("omnigraph.server.supervision")


class Supervisor(Multiprocess):
    """Uvicorn's, which never waits for a worker: one that hangs would keep the server from stopping."""

    def __init__(self, config: Config, sockets: list[socket], stop_seconds: float) -> None:
        super().__init__(config, sockets)
        self._stop_seconds = stop_seconds
        self._unanswered: dict[Process, float] = {}
        """Since when a worker has been asked whether it works."""
        self._has_served = False
        self.has_failed = False
        """Whether it stopped because no worker could start."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have died, and those that have not answered in time."""
        if self.should_exit.is_set():
            return
        for index, worker in enumerate(self.processes):
            if worker.process.is_alive() and not self._hangs(worker):
                continue
            worker.kill()
            worker.join()
            self._unanswered.pop(worker, None)
            if worker.exitcode == STARTUP_FAILURE or (not self._has_served and (worker.exitcode or 0) > 0):
                self.has_failed = True
                self.should_exit.set()
                return
            _log.warning("worker %s died and is replaced", worker.pid)
            self.processes[index] = Process(self.config, self.sockets)
            self.processes[index].start()

    def join_all(self) -> None:
        """Wait for the workers to end, and end those that take too long."""
        deadline = clock.current().monotonic() + self._stop_seconds
        for worker in self.processes:
            worker.process.join(max(0.0, deadline - clock.current().monotonic()))
            if worker.process.is_alive():
                _log.warning("worker %s did not end in time and was killed", worker.pid)
                worker.process.kill()
                worker.process.join()

    def _hangs(self, worker: Process) -> bool:
        """Ask a worker whether it works; its answer is taken at a later look."""
        since = self._unanswered.get(worker)
        try:
            if since is None:
                worker.parent_conn.send(b"ping")
                since = self._unanswered[worker] = clock.current().monotonic()
            if worker.parent_conn.poll():
                self._has_served |= worker.parent_conn.recv()
                del self._unanswered[worker]
                return False  # however late: this process itself may have stood still
        except (OSError, EOFError):
            return True
        return clock.current().monotonic() - since > self.config.timeout_worker_healthcheck
