"""Jobs: work that outlives its request."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from typing import Annotated, Any

from fastapi import Body, Depends, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from omnigraph.base import clock
from omnigraph.base.choices import LoadMode
from omnigraph.base.errors import BadInput, Conflict
from omnigraph.cluster.serving.pipelines import find_pipeline
from omnigraph.server.calls import GraphCall, GraphDep, WriteDep, WriteHeaders, refuse_precondition
from omnigraph.server.context import current_request
from omnigraph.server.jobs.kinds import KINDS, AskedKind, JobKind, describe_load
from omnigraph.server.jobs.record import FINAL, Job, JobState
from omnigraph.server.jobs.rights import sight_of_jobs
from omnigraph.server.jobs.runner import JobRunner
from omnigraph.server.jobs.store import JobStore, no_job
from omnigraph.server.loads import FILES, BodyFormat, LoadOptions
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.server.requests.spool import write_body
from omnigraph.server.requests.streams import render_event

router = GraphRouter(route_class=EngineRoute, tags=["jobs"])
_POLL_SECONDS = 0.2
_BEAT_SECONDS = 15.0
_MOST_JOBS = 1_000


def find_runner(request: Request) -> JobRunner:
    """Return who does jobs here."""
    found: JobRunner = request.app.state.jobs
    return found


RunnerDep = Annotated[JobRunner, Depends(find_runner)]


@router.post("/jobs/load", status_code=202)
async def begin_load(
    request: Request,
    call: GraphDep,
    headers: WriteDep,
    runner: RunnerDep,
    format: BodyFormat,
    mode: LoadMode,
    options: Annotated[LoadOptions, Depends()],
    address: Annotated[
        str | None, Query(description="Files that the server reads itself, instead of the body.")
    ] = None,
) -> Response:
    """Load the body, or files at an address, as one commit; the request is answered when the job is there."""
    pool = current_pool()
    if address is not None:
        runner.addresses.check(address)
    graph = await pool.run(call.open)
    KINDS["load"].check(graph, {"branch": options.branch})
    store = await pool.run(runner.store_of, call.graphs, call.name, writes=True)
    folder = await pool.run(store.prepare, writes=True)
    try:
        body = folder / f"body{FILES[format][0]}"
        size = await write_body(request.stream(), body, pool.limits.job_bytes, pool)
        if address is not None and size:
            raise BadInput("give the address of files or a body, not both")
        asked = describe_load(format, mode, options, address)
        made = (call, headers, runner, store, folder, "load", asked, body.name)
        return await pool.run(_begin, *made, writes=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@router.post("/jobs/{kind}", status_code=202)
def begin_job(
    call: GraphDep,
    headers: WriteDep,
    runner: RunnerDep,
    kind: AskedKind,
    body: Annotated[dict[str, Any], Body(examples=[{"branch": "main"}])],
) -> Response:
    """Begin what the route of the same name does, as a job: `{}` where nothing need be said."""
    wanted = KINDS[kind]
    if not wanted.makes_commit:
        refuse_precondition(headers)
    asked = _read_body(wanted, body)
    wanted.check(call.open(), asked)
    if wanted.has_target:
        runner.addresses.check(asked["target"])
    store = runner.store_of(call.graphs, call.name)
    return _begin(call, headers, runner, store, store.prepare(), kind, asked, None)


def _read_body(kind: JobKind, body: dict[str, Any]) -> dict[str, Any]:
    """Return what a job is asked for, checked as the body of the route of the same name is."""
    assert kind.body is not None
    try:
        return kind.body(**body).model_dump()
    except ValidationError as error:
        problems = [{**item, "loc": ("body", *item["loc"])} for item in error.errors()]
        raise RequestValidationError(problems) from error


@router.get("/pipelines")
def list_pipelines(call: GraphDep) -> dict[str, Any]:
    """Return the pipelines of the graph that the caller may run: only a cluster declares any."""
    graph, known = call.open(), call.graphs.pipelines_of(call.name)
    return {"pipelines": [item.to_json() for _, item in sorted(known.items()) if item.may_run(graph)]}


@router.post("/pipelines/{name}", status_code=202)
def run_pipeline(call: GraphDep, headers: WriteDep, runner: RunnerDep, name: str) -> Response:
    """Begin a pipeline as a job: the load that the cluster declares under a name."""
    pipeline = find_pipeline(call.graphs.pipelines_of(call.name), name, call.open())
    asked = {"pipeline": pipeline.name, "digest": pipeline.digest, "engine": pipeline.engine}
    store = runner.store_of(call.graphs, call.name)
    return _begin(call, headers, runner, store, store.prepare(), "pipeline", asked, None)


@router.get("/jobs")
def list_jobs(
    call: GraphDep,
    runner: RunnerDep,
    state: JobState | None = None,
    kind: str | None = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_JOBS)] = 100,
    page_token: str | None = None,
) -> dict[str, Any]:
    """Return the jobs of the graph, newest first, a page at a time."""
    store = runner.store_of(call.graphs, call.name)
    may_see = sight_of_jobs(call.graphs.gate_of(call.name), call.open())
    found = store.page(state, kind, limit + 1, page_token, may_see)
    token = found[limit - 1].id if len(found) > limit else None
    return {"jobs": [_tell(store, job) for job in found[:limit]], "next_page_token": token}


@router.get("/jobs/{id}")
def show_job(call: GraphDep, runner: RunnerDep, id: str) -> dict[str, Any]:
    """Return how a job stands, and what came of it."""
    store = runner.store_of(call.graphs, call.name)
    return _tell(store, _find(call, store, id))


@router.post("/jobs/{id}/cancel", status_code=202)
def cancel_job(call: GraphDep, runner: RunnerDep, id: str) -> dict[str, Any]:
    """Ask a job to stop: it does at its next checkpoint, and what it has not published by then never is."""
    store = runner.store_of(call.graphs, call.name)
    if not _find(call, store, id).is_final:
        store.ask_to_cancel(id)
        runner.wake()
    return _tell(store, store.get(id))


@router.get("/jobs/{id}/events", response_class=Response)
def follow_job(
    call: GraphDep,
    runner: RunnerDep,
    id: str,
    last_event_id: Annotated[
        int | None, Header(ge=0, description="The number of the last event seen.")
    ] = None,
) -> Response:
    """Send what happens to a job, as it happens, until its end (`text/event-stream`)."""
    store = runner.store_of(call.graphs, call.name)
    _find(call, store, id)
    return _Following(store, id, last_event_id or 0)


def _find(call: GraphCall, store: JobStore, id: str) -> Job:
    """Return a job; one of somebody else is as if it were not there."""
    job = store.get(id)
    if not sight_of_jobs(call.graphs.gate_of(call.name), call.open())(job):
        raise no_job(id)
    return job


def _begin(
    call: GraphCall,
    headers: WriteHeaders,
    runner: JobRunner,
    store: JobStore,
    folder: Any,
    kind: str,
    asked: dict[str, Any],
    body: str | None,
) -> Response:
    actor, key = call.caller.actor, headers.idempotency_key
    digest = hashlib.sha256(json.dumps([kind, asked], sort_keys=True).encode()).hexdigest()
    id = store.choose_id(key, actor)
    made = Job(
        id, call.name, kind, actor, asked, clock.current().now_us(), body=body, digest=digest if key else ""
    )
    job = store.add(
        folder, made.change(branch=call.branch, incarnation=call.incarnation, if_commit=headers.if_commit)
    )
    if key is not None and job.digest != digest:
        raise Conflict(f"idempotency key {key!r} was used for another job", job=job.id, key=key)
    runner.wake()
    place = f"/graphs/{call.name}/jobs/{job.id}"
    return JsonAnswer(_tell(store, job), 202, {"Location": place})


def _tell(store: JobStore, job: Job) -> dict[str, Any]:
    return job.tell(store.is_cancelled(job.id))


class _Following(Response):
    """The events of a job until its end, or until the client goes or the worker stops."""

    media_type = "text/event-stream"

    def __init__(self, store: JobStore, id: str, after: int) -> None:
        self._store, self._id, self._after = store, id, after
        self.status_code, self.background = 200, None
        self.init_headers({"Cache-Control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, pool = current_request(), current_pool()
        assert request is not None
        request.is_answering = True
        pool.admission.begin_stream()
        try:
            await self._send_all(scope["app"].state.stopping, send)
        finally:
            pool.admission.end_stream()

    async def _send_all(self, stopping: Any, send: Send) -> None:
        request, pool = current_request(), current_pool()
        assert request is not None
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        beat, quiet = clock.current().monotonic(), 0
        while not (request.gone.is_set() or stopping.is_set()):
            job = await pool.run(self._store.get, self._id)
            events = await pool.run(self._store.events, self._id, self._after)
            parts = [
                render_event(event.name, json.dumps(event.tell(), ensure_ascii=False), event.number)
                for event in events
            ]
            self._after += len(events)
            now = clock.current().monotonic()
            if not parts and now - beat > _BEAT_SECONDS:
                parts.append(b": still here\n\n")
            if parts:
                beat = now
                await send({"type": "http.response.body", "body": b"".join(parts), "more_body": True})
            # The last event is written after the job; one who has seen all events waits for none.
            quiet = quiet + 1 if job.is_final and not events else 0
            if quiet > 1 or (events and events[-1].name in FINAL):
                break
            await asyncio.sleep(_POLL_SECONDS)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
