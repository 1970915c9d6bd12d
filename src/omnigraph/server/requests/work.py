"""Calls of the engine in threads beside the event loop; they stop when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.responses import Response
from fastapi.routing import APIRoute

from omnigraph.base.cancellation import watch
from omnigraph.base.errors import BadInput
from omnigraph.base.telemetry import measure
from omnigraph.server.context import ClientGone, RequestState, current_request
from omnigraph.server.limits import RequestLimits
from omnigraph.server.policies import refuse_reader
from omnigraph.server.requests.admission import Admission
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.repeats import Repeats
from omnigraph.wire.media import IF_COMMIT_HEADER

_Answer = TypeVar("_Answer")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Workshop:
    """The threads of a worker: reads and writes have their own, so that neither waits for the other."""

    def __init__(self, limits: RequestLimits, state: Path) -> None:
        self.limits = limits
        self.repeats = Repeats(state)
        self.admission = Admission(limits)
        self.running: Counter[str] = Counter()
        """How many calls of each kind are in a thread, or wait for one."""
        self._reads = ThreadPoolExecutor(limits.threads, thread_name_prefix="omnigraph-read")
        self._writes = ThreadPoolExecutor(limits.threads, thread_name_prefix="omnigraph-write")

    async def run(self, call: Callable[..., _Answer], *args: Any, writes: bool = False) -> _Answer:
        """Return what a call returns. It stops at its next checkpoint when the request is given up.

        A call that has not begun by then never does. Reads and staging have checkpoints; a publish has none,
        so that it is carried out to its end or not at all.
        """
        request = current_request()
        assert request is not None, "only a request is worked for"
        pool, kind = (self._writes, "write") if writes else (self._reads, "read")
        job = pool.submit(copy_context().run, _call_watched, request, call, args)
        self.running[kind] += 1
        loop = asyncio.get_running_loop()
        job.add_done_callback(lambda _: self._end_soon(loop, kind))
        future = asyncio.wrap_future(job)
        try:
            return await future
        except asyncio.CancelledError:
            request.gone.set()
            raise

    def _end_soon(self, loop: asyncio.AbstractEventLoop, kind: str) -> None:
        with suppress(RuntimeError):  # the server has stopped, and its loop with it
            loop.call_soon_threadsafe(self._end, kind)

    def _end(self, kind: str) -> None:
        self.running[kind] -= 1

    def close(self) -> None:
        """Let threads end when they have nothing to do."""
        for pool in (self._reads, self._writes):
            pool.shutdown(wait=False, cancel_futures=True)


def _call_watched(request: RequestState, call: Callable[..., _Answer], args: tuple[Any, ...]) -> _Answer:
    # A StopIteration would be lost in a future: calls here never raise it.
    with watch(request.check), measure() as counts:
        try:
            request.check()
            return call(*args)
        finally:
            request.storage.update(counts.as_dict())


_workshop: ContextVar[Workshop] = ContextVar("omnigraph_workshop")


def enter_workshop(workshop: Workshop) -> None:
    """Make a workshop the one that this task works in."""
    _workshop.set(workshop)


def current_workshop() -> Workshop:
    """Return the workshop of this task."""
    return _workshop.get()


async def _read_key(
    idempotency_key: Annotated[
        str | None, Header(description="The same key again answers with the first answer.")
    ] = None,
) -> None:
    """Describe the key of a write that makes no commit; who answers finds it with the request."""


def reads_only(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a POST that changes nothing."""
    endpoint.__dict__["reads_only"] = True
    return endpoint


class WorkRoute(APIRoute):
    """A route whose function calls the engine: it runs in a thread, and so does the making of its answer."""

    takes_any_parameter = False
    """Whether parameters of the address that it does not know are passed over, instead of refused."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        methods = frozenset(given.get("methods") or {"GET"})
        writes = not (methods <= _SAFE or endpoint.__dict__.get("reads_only", False))
        if writes and "headers" not in inspect.signature(endpoint).parameters:
            given["dependencies"] = [*(given.get("dependencies") or ()), Depends(_read_key)]
        if not getattr(endpoint, "is_work", False):
            endpoint = _as_work(endpoint, writes, given.get("status_code") or 200)
        super().__init__(path, endpoint, **given)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        handle = super().get_route_handler()
        fields = get_flat_params(self.dependant)
        known = {field.alias for field in fields if isinstance(field.field_info, Query)}

        async def note_unknown(request: Request) -> Response:
            state = current_request()
            if state is not None and not self.takes_any_parameter:
                state.unknown_parameters = tuple(sorted(set(request.query_params) - known))
            return await handle(request)

        return note_unknown


def _as_work(endpoint: Callable[..., Any], writes: bool, status: int) -> Callable[..., Any]:
    # Whether a stored query exists must not be told by how a call of it is refused.
    guarded = "call" in inspect.signature(endpoint).parameters and "queries" not in endpoint.__module__
    is_async = inspect.iscoroutinefunction(endpoint)
    takes_terms = "headers" in inspect.signature(endpoint).parameters
    takes_head = takes_terms or "if_commit" in inspect.signature(endpoint).parameters

    def answer(given: dict[str, Any]) -> Response:
        request = current_request()
        if takes_terms or not writes or "call" not in given or request is None:
            return _respond(endpoint(**given), status)
        return current_workshop().repeats.answer_once(
            given["call"], request, lambda: _respond(endpoint(**given), status)
        )

    async def serve(given: dict[str, Any]) -> Any:
        if is_async:
            return await endpoint(**given)
        return await current_workshop().run(answer, given, writes=writes)

    @wraps(endpoint)
    async def work(**given: Any) -> Any:
        request = current_request()
        assert request is not None
        if request.is_conditional and not takes_head:
            raise BadInput(f"this operation takes no {IF_COMMIT_HEADER}: it would not hold to it")
        if request.unknown_parameters:
            # One that is misspelt would be as if it were not there: a write would go to another branch.
            names = ", ".join(repr(name) for name in request.unknown_parameters)
            raise BadInput(f"this operation has no parameter {names}: see /openapi.json")
        try:
            if not writes:
                return await serve(given)
            if guarded:
                refuse_reader(given["call"].graphs.gate_of(given["call"].name), request.actor)
            with current_workshop().admission.admit(request.actor, request.body_bytes):
                return await serve(given)
        except ClientGone:
            if not request.has_left:
                raise  # it is the server that does not wait
            return Response(status_code=499)  # nobody reads it

    work.__dict__["is_work"] = True
    return work


def note_commit(found: Any) -> None:
    """Let the log of the request say which commit a write made."""
    request = current_request()
    if request is not None and isinstance(found, Mapping):
        made = found.get("commit") or found.get("commit_id")
        request.commit = made if isinstance(made, str) else request.commit


def _respond(found: Any, status: int) -> Response:
    """Return an answer as a response, made in the thread: large JSON must not hold the event loop."""
    if isinstance(found, Response):
        return found
    note_commit(found)
    return Response(status_code=status) if found is None else JsonAnswer(found, status)
