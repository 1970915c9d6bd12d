"""The threads of a worker that do jobs: new ones, and those whose process is gone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from omnigraph.base import clock
from omnigraph.base.cancellation import watch
from omnigraph.base.errors import OmniError, Unavailable
from omnigraph.base.telemetry import measure
from omnigraph.server.addresses import AllowedAddresses
from omnigraph.server.calls import Caller, GraphCall, WriteHeaders
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.jobs.kinds import JobCall, run_job
from omnigraph.server.jobs.record import Job
from omnigraph.server.jobs.store import JobStore
from omnigraph.server.revisions.current import CurrentGraphs
from omnigraph.wire.errors import answer_error

_log = logging.getLogger("omnigraph.server.jobs")
_LOOK_SECONDS = 1.0
"""How often a worker looks for jobs of workers that are gone."""
_CHECK_SECONDS = 0.1
"""How often a running job looks whether it is still wanted."""
_REPORT_SECONDS = 0.5
_MAX_ATTEMPTS = 5
_KEPT_US = 7 * 86_400 * 1_000_000
"""How long a job is remembered after its end."""


class NotWanted(Exception):
    """Somebody has cancelled the job."""


class Interrupted(Exception):
    """The worker stops; the job is done by another, or after the next start."""


class JobRunner:
    """Does the jobs of the graphs of one worker."""

    def __init__(self, served: CurrentGraphs, state: Path, addresses: AllowedAddresses, threads: int) -> None:
        self._served, self._state, self.addresses = served, state, addresses
        self._wake = threading.Condition()
        self._stopping = threading.Event()
        self._is_woken = False
        self._ended: dict[str, int] = {}
        """When jobs ended that need not be looked at any more."""
        self.on_end: Callable[[str, str, str, Mapping[str, int]], None] = lambda *_: None
        """Told the graph, kind and state of a job that ended, and the operations of storage that it took."""
        self._threads = [
            threading.Thread(target=self._work, name=f"omnigraph-job-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Begin to look for jobs."""
        for thread in self._threads:
            thread.start()

    def store_of(self, graphs: ServedGraphs, name: str) -> JobStore:
        """Return the jobs of a graph."""
        return JobStore(self._state, graphs.handle(name, None, None).id)

    def wake(self) -> None:
        """Look for jobs now."""
        with self._wake:
            self._is_woken = True
            self._wake.notify_all()

    def stop(self) -> None:
        """Take no more jobs, and let those that run stop at their next checkpoint."""
        self._stopping.set()
        self.wake()

    def join(self, seconds: float) -> bool:
        """Wait for running jobs to stop; return whether all have."""
        until = clock.current().monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, until - clock.current().monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                is_busy = self._look()
            except Exception as error:
                _log.error("looking for jobs failed", exc_info=error)
                is_busy = False
            with self._wake:
                if not (is_busy or self._is_woken or self._stopping.is_set()):
                    self._wake.wait(_LOOK_SECONDS)
                self._is_woken = False

    def _look(self) -> bool:
        """Do the first job that nobody works on; return whether there was one."""
        now = clock.current().now_us()
        graphs = self._served.now
        for name in graphs.names:
            store = self.store_of(graphs, name)
            for id in reversed(store.ids()):
                if self._stopping.is_set():
                    return False
                if id not in self._ended:
                    try:
                        job = store.get(id)
                    except OmniError:
                        continue
                    if job.is_final:
                        self._ended[id] = job.ended or 0
                if id in self._ended:
                    if now - self._ended[id] > _KEPT_US:
                        store.forget(id)
                        del self._ended[id]
                    continue
                with store.claim(id) as is_mine:
                    if is_mine and self._do(graphs, name, store, id):
                        return True
        return False

    def _do(self, graphs: ServedGraphs, name: str, store: JobStore, id: str) -> bool:
        job = store.get(id)
        if job.is_final:
            return False
        if store.is_cancelled(id):
            self._end(store, job, "cancelled")
            return True
        if job.attempts >= _MAX_ATTEMPTS:
            lost = Unavailable(f"the job was begun {job.attempts} times, and its process died each time")
            self._end(store, job, "failed", error=answer_error(lost).body)
            return True
        store.note(id, "resumed" if job.attempts else "started", {"attempt": job.attempts + 1})
        begun = clock.current().now_us()
        job = store.save(job.change(state="running", attempts=job.attempts + 1, started=job.started or begun))
        run = _Run(store, job, self._stopping)
        call = GraphCall(name, Caller(job.actor), graphs, job.branch, job.incarnation)
        folder = store.folder_of(id)
        body = None if job.body is None else folder / job.body
        headers = WriteHeaders(f"job:{id}", job.if_commit)
        with measure() as counts:
            try:
                with watch(run.check):
                    run.check()
                    given = JobCall(call, job.asked, folder, body, headers, run.report, self.addresses)
                    found = run_job(job.kind, given)
            except NotWanted:
                self._end(store, job, "cancelled")
            except Interrupted:
                store.note(id, "interrupted", {})
                store.save(job.change(state="queued", attempts=job.attempts - 1))
            except OmniError as error:
                self._end(store, job, "failed", error=answer_error(error).body)
            except Exception as error:
                _log.error("job %s failed", id, exc_info=error)
                fault = OmniError("the server has failed; its log says why, under the id of the job")
                self._end(store, job, "failed", error=answer_error(fault).body)
            else:
                self._end(store, job, "succeeded", result=found, storage=counts.as_dict())
        return True

    def _end(self, store: JobStore, job: Job, state: str, storage: Any = None, **what: Any) -> None:
        ended = job.change(state=state, ended=clock.current().now_us(), **what)
        store.save(ended)
        store.drop_body(job)
        store.note(job.id, state, {})
        facts = {
            "job": job.id,
            "kind": job.kind,
            "graph": job.graph,
            "actor": job.actor,
            "state": state,
            "code": (ended.error or {}).get("code"),
            "attempts": ended.attempts,
            "seconds": None if job.started is None else ((ended.ended or 0) - job.started) / 1e6,
            "storage": storage,
        }
        _log.info("job", extra={"facts": {key: item for key, item in facts.items() if item is not None}})
        self.on_end(job.graph, job.kind, state, storage or {})


class _Run:
    """A job while it runs: what it says of its progress, and whether it is still wanted."""

    def __init__(self, store: JobStore, job: Job, stopping: threading.Event) -> None:
        self._store, self._job, self._stopping = store, job, stopping
        self._checked = self._reported = -1.0
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise when the job is cancelled, or the worker stops; called at checkpoints of the engine."""
        if self._stopping.is_set():
            raise Interrupted
        now = clock.current().monotonic()
        if now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        if self._store.is_cancelled(self._job.id):
            raise NotWanted

    def report(self, what: str, done: int, total: int) -> None:
        """Note how far the job is, now and then; raise like a check."""
        self.check()
        now = clock.current().monotonic()
        with self._lock:
            if done < total and now - self._reported < _REPORT_SECONDS:
                return
            self._reported = now
        self._store.note(self._job.id, "progress", {"what": what, "done": done, "total": total})
