"""Fresh processes that run one task at a time on a graph, and can be made to die or wait inside it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from omnigraph.base import clock
from support.fork_server import fork_server

_SECONDS = 60.0
_POLL = 0.002


class Worker:
    """A process of its own. `tell` it a task, then take its `answer`, or see it `die`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-worker-"))
        context = fork_server()
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, str(self.folder)), daemon=True)
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
    """The processes of a test, each fresh."""

    def __init__(self) -> None:
        self._taken: list[Worker] = []

    def take(self) -> Worker:
        """Start a process."""
        self._taken.append(Worker())
        return self._taken[-1]

    def close(self) -> None:
        """End all."""
        while self._taken:
            self._taken.pop().kill()


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
            error.add_note("in its own process:\n" + traceback.format_exc())
            answer = (None, error)
        for point in failpoints.Failpoint:
            failpoints.disarm(point.value)
        connection.send(answer)
