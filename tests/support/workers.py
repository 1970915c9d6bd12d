"""Warm processes that run one task at a time on a graph, and can be made to die or wait inside it.

They come from a fork server that has loaded only Python code: neither Lance nor Arrow, which do not
survive a fork. Each process loads those itself, ahead of its first task.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from omnigraph.base import clock

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pytest", "lance_namespace_urllib3_client", "omnigraph.compiler.frontend"])
_SECONDS = 60.0
_POLL = 0.002


class Worker:
    """A process of its own. `tell` it a task, then take its `answer`, or see it `die`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-worker-"))
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, str(self.folder)), daemon=True)
        self._process.start()
        theirs.close()
        self.is_waiting = True
        """Whether it has no task."""

    @property
    def pid(self) -> int:
        """The process number."""
        assert self._process.pid is not None
        return self._process.pid

    def tell(
        self, task: str, *given: Any, failpoints: str = "", env: Mapping[str, str] | None = None
    ) -> None:
        """Start a task of `support.graph_tasks` with these failpoints armed."""
        self.is_waiting = False
        self._connection.send((task, given, failpoints, dict(env or {})))

    def answer(self, seconds: float = _SECONDS) -> Any:
        """Wait for the task's result, or raise what it raised."""
        assert self._connection.poll(seconds), "no answer"
        result, error = self._connection.recv()
        self.is_waiting = True
        if error is not None:
            raise error
        return result

    def ask(self, task: str, *given: Any, failpoints: str = "", env: Mapping[str, str] | None = None) -> Any:
        """Run a task and return its result."""
        self.tell(task, *given, failpoints=failpoints, env=env)
        return self.answer()

    def die(self) -> None:
        """Wait until the process has been killed, as its failpoint should make it."""
        if self._connection.poll(_SECONDS):
            try:
                raise AssertionError(f"not killed; it answered {self._connection.recv()!r}")
            except EOFError:
                pass
        self._process.join(_SECONDS)
        assert self._process.exitcode == -signal.SIGKILL

    def wait_parked(self, point: str) -> None:
        """Wait until the process is parked at a point."""
        wall = clock.Clock()
        deadline = wall.monotonic() + _SECONDS
        while not (self.folder / f"{point}.parked").exists():
            assert not self._connection.poll(), (
                f"not parked at {point}; it answered {self._connection.recv()!r}"
            )
            assert wall.monotonic() < deadline, f"not parked at {point}"
            wall.sleep(_POLL)

    def parks_or_answers(self, point: str) -> bool:
        """Wait until the process is parked at a point, or has an answer; say whether it is parked."""
        wall = clock.Clock()
        deadline = wall.monotonic() + _SECONDS
        while not (self.folder / f"{point}.parked").exists():
            if self._connection.poll():
                return False
            assert wall.monotonic() < deadline, f"neither parked at {point} nor an answer"
            wall.sleep(_POLL)
        return True

    def release(self, point: str) -> None:
        """Let the process go on from a point."""
        (self.folder / f"{point}.release").touch()

    def kill(self) -> None:
        """End the process with SIGKILL, wherever it is."""
        if self._process.is_alive():
            os.kill(self.pid, signal.SIGKILL)
        self._process.join(_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)


class Workers:
    """A few processes that are kept warm; each test takes fresh ones."""

    def __init__(self, spare: int = 2) -> None:
        self._spare = spare
        self._waiting: deque[Worker] = deque()
        self._taken: list[Worker] = []
        self._fill(spare)

    def take(self) -> Worker:
        """Return a fresh process."""
        self._fill(1)
        worker = self._waiting.popleft()
        self._taken.append(worker)
        self._fill(self._spare)
        return worker

    def release_taken(self) -> None:
        """End the processes that were taken."""
        while self._taken:
            self._taken.pop().kill()

    def close(self) -> None:
        """End all."""
        self.release_taken()
        while self._waiting:
            self._waiting.pop().kill()

    def _fill(self, count: int) -> None:
        while len(self._waiting) < count:
            self._waiting.append(Worker())


def _serve(connection: Connection, folder: str) -> None:
    import support.graph_tasks as tasks
    from omnigraph.base import failpoints

    os.environ[failpoints.FOLDER] = folder
    while True:
        try:
            task, given, points, env = connection.recv()
        except EOFError:
            return
        os.environ.update(env)
        failpoints.arm_all(points)
        try:
            answer = (getattr(tasks, task)(*given), None)
        except Exception as error:
            answer = (None, error)
        for point in failpoints.Failpoint:
            failpoints.disarm(point.value)
        connection.send(answer)
