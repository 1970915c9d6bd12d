"""The files of jobs: a folder for each graph, in it one for each job.

Jobs are kept beside the server, not beside the graph: they are work of a server, with bodies of many
gigabytes that no reader of the graph should see, and a graph that cannot be written must not lose sight of
them. Processes of one machine that share the folder see each other's jobs; the lock of a job's file says who
works on it, and a process that dies lets go of it. Nothing here must be right for a graph to be right: a job
may be done twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import NotFound
from omnigraph.base.ids import is_ulid, new_ulid
from omnigraph.server.jobs.record import Job, JobEvent, read_job
from omnigraph.storage.files.shared_files import hold_lock, replace_file

_JOB, _EVENTS, _CANCEL, _LOCK = "job.json", "events.jsonl", "cancel", "lock"
_NEW = "new-"


def default_state() -> Path:
    """Return the folder where servers of this user keep what outlives them."""
    given = os.environ.get("OMNIGRAPH_SERVER_STATE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "omnigraph" / "server"


def no_job(id: str) -> NotFound:
    """Return the error for a job that does not exist."""
    return NotFound(f"there is no job {id!r} of this graph here", job=id)


class JobStore:
    """The jobs of one graph."""

    def __init__(self, state: Path, graph_id: str) -> None:
        self._folder = state / "jobs" / graph_id

    def prepare(self) -> Path:
        """Return a new folder in which a job's body can be written before the job is there."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = self._folder / f"{_NEW}{new_ulid()}"
        folder.mkdir(mode=0o700)
        return folder

    def choose_id(self, key: str | None, actor: str | None) -> str:
        """Return the id of a new job; the same idempotency key of an actor has the same."""
        id = new_ulid()
        if key is None:
            return id
        keys = self._folder / "keys"
        keys.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = keys / hashlib.sha256(json.dumps([actor, key]).encode()).hexdigest()
        mine = self._folder / f"{_NEW}key-{id}"
        mine.write_text(id)
        try:
            os.link(mine, path)
        except FileExistsError:
            id = path.read_text()
        finally:
            mine.unlink()
        return id

    def add(self, prepared: Path, job: Job) -> Job:
        """Make a prepared folder a job, unless the job is there: then that one is returned."""
        replace_file(prepared / _JOB, job.dump())
        _append(prepared / _EVENTS, "queued", {})
        try:
            os.rename(prepared, self._folder / job.id)
        except OSError:
            if not (self._folder / job.id / _JOB).exists():
                raise
            shutil.rmtree(prepared, ignore_errors=True)
            return self.get(job.id)
        return job

    def get(self, id: str) -> Job:
        """Return a job."""
        path = self._folder / id / _JOB
        try:
            data = path.read_bytes() if is_ulid(id) else None
        except (FileNotFoundError, NotADirectoryError):
            data = None
        if data is None:
            raise no_job(id)
        return read_job(data, str(path))

    def ids(self) -> list[str]:
        """Return the ids of all jobs, newest first."""
        try:
            return sorted((name for name in os.listdir(self._folder) if is_ulid(name)), reverse=True)
        except FileNotFoundError:
            return []

    def page(
        self,
        state: str | None,
        kind: str | None,
        limit: int,
        before: str | None,
        wanted: Callable[[Job], bool] = lambda _: True,
    ) -> list[Job]:
        """Return jobs, newest first, from after one of them on."""
        found: list[Job] = []
        for id in self.ids():
            if before is not None and id >= before:
                continue
            with suppress(NotFound):
                job = self.get(id)
                if state in (None, job.state) and kind in (None, job.kind) and wanted(job):
                    found.append(job)
            if len(found) == limit:
                break
        return found

    def save(self, job: Job) -> Job:
        """Store a job again; only who holds its lock does."""
        replace_file(self._folder / job.id / _JOB, job.dump())
        return job

    def note(self, id: str, name: str, facts: Mapping[str, Any]) -> None:
        """Add to the events of a job."""
        _append(self._folder / id / _EVENTS, name, facts)

    def events(self, id: str, after: int = 0) -> list[JobEvent]:
        """Return what has happened to a job since an event."""
        with (self._folder / id / _EVENTS).open(encoding="utf-8") as file:
            lines = [line for line in file if line.endswith("\n")]
        found = []
        for number, line in enumerate(lines[after:], after + 1):
            event = json.loads(line)
            found.append(JobEvent(number, event.pop("event"), event.pop("time"), event))
        return found

    def ask_to_cancel(self, id: str) -> None:
        """Let whoever works on a job know that it is not wanted any more."""
        (self._folder / id / _CANCEL).touch()

    def is_cancelled(self, id: str) -> bool:
        """Return whether a job is not wanted any more."""
        return (self._folder / id / _CANCEL).exists()

    def folder_of(self, id: str) -> Path:
        """Return the folder of a job."""
        return self._folder / id

    @contextmanager
    def claim(self, id: str) -> Iterator[bool]:
        """Work on a job inside the block if nobody else does."""
        with ExitStack() as held:
            try:
                is_mine = held.enter_context(hold_lock(self._folder / id / _LOCK, waits=False))
            except (FileNotFoundError, NotADirectoryError):
                is_mine = False  # it was forgotten in between
            yield is_mine

    def drop_body(self, job: Job) -> None:
        """Remove the file that came with a job."""
        if job.body is not None:
            with suppress(FileNotFoundError):
                (self._folder / job.id / job.body).unlink()

    def forget(self, id: str) -> None:
        """Remove a job."""
        shutil.rmtree(self._folder / id, ignore_errors=True)


def _append(path: Path, name: str, facts: Mapping[str, Any]) -> None:
    line = json.dumps({"event": name, "time": clock.current().now_us(), **facts}, ensure_ascii=False)
    with path.open("ab", buffering=0) as file:
        file.write(line.encode() + b"\n")
