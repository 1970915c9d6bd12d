"""Routes whose functions call the engine: what a request must be before one runs, and where it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.responses import Response
from fastapi.routing import APIRoute

from omnigraph.base.errors import BadInput
from omnigraph.server.calls import GraphCall
from omnigraph.server.context import CLIENT_GONE_STATUS, ClientGone, RequestState, current_request
from omnigraph.server.policies import refuse_reader
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.route_terms import RouteTerms, read_terms
from omnigraph.wire.media import IF_COMMIT_HEADER

_TERMS = "omnigraph_terms"


async def _read_key(
    idempotency_key: Annotated[
        str | None, Header(description="The same key again answers with the first answer.")
    ] = None,
) -> None:
    """Describe the key of a write that makes no commit; who answers finds it with the request."""


class EngineRoute(APIRoute):
    """A route whose function calls the engine: it runs in a thread, and so does the making of its answer."""

    takes_any_parameter = False
    """Whether parameters of the address that it does not know are passed over, instead of refused."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        if not hasattr(endpoint, _TERMS):  # else it is registered again, below a prefix
            terms = read_terms(path, endpoint, given.get("methods") or {"GET"})
            if terms.repeats_answer:
                given["dependencies"] = [*(given.get("dependencies") or ()), Depends(_read_key)]
            endpoint = _run_in_pool(endpoint, terms, given.get("status_code") or 200)
        super().__init__(path, endpoint, **given)

    @property
    def terms(self) -> RouteTerms:
        """What it asks of a request, and holds to."""
        found: RouteTerms = self.endpoint.__dict__[_TERMS]
        return found

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        handle = super().get_route_handler()
        fields = get_flat_params(self.dependant)
        known = {field.alias for field in fields if isinstance(field.field_info, Query)}

        async def note_unknown(request: Request) -> Response:
            state = current_request()
            if state is not None and not self.takes_any_parameter:
                state.unknown_parameters = tuple(sorted(set(request.query_params) - known))
                state.known_parameters = tuple(sorted(known))
            return await handle(request)

        return note_unknown


def _run_in_pool(endpoint: Callable[..., Any], terms: RouteTerms, status: int) -> Callable[..., Any]:
    """Return a function with the same parameters that checks a request against terms, and runs the first."""
    is_async = inspect.iscoroutinefunction(endpoint)

    def answer(given: dict[str, Any]) -> Response:
        request = current_request()
        if not terms.repeats_answer or request is None:
            return _respond(endpoint(**given), status)
        return current_pool().repeats.answer_once(
            _call_in(given), request, lambda: _respond(endpoint(**given), status)
        )

    async def serve(given: dict[str, Any]) -> Any:
        if is_async:
            return await endpoint(**given)
        return await current_pool().run(answer, given, writes=terms.writes)

    @wraps(endpoint)
    async def work(**given: Any) -> Any:
        request = current_request()
        assert request is not None
        _refuse_unmet(request, terms)
        try:
            if not terms.writes:
                return await serve(given)
            if terms.refuses_readers:
                call = _call_in(given)
                refuse_reader(call.graphs.gate_of(call.name), request.actor)
            with current_pool().admission.admit(request.actor, request.body_bytes):
                return await serve(given)
        except ClientGone:
            if not request.has_left:
                raise  # it is the server that does not wait
            return Response(status_code=CLIENT_GONE_STATUS)  # nobody reads it

    work.__dict__[_TERMS] = terms
    return work


def _refuse_unmet(request: RequestState, terms: RouteTerms) -> None:
    """Refuse a request that says what the route would not hold to."""
    if request.is_conditional and not terms.takes_condition:
        raise BadInput(f"this operation takes no {IF_COMMIT_HEADER}: it would not hold to it")
    if request.unknown_parameters:
        # One that is misspelt would be as if it were not there: a write would go to another branch.
        names = ", ".join(repr(name) for name in request.unknown_parameters)
        known = ", ".join(request.known_parameters) or "none"
        raise BadInput(f"this operation has no parameter {names}: it has {known}")


def _call_in(given: Mapping[str, Any]) -> GraphCall:
    """Return the graph's request among the arguments of a route's function."""
    return next(item for item in given.values() if isinstance(item, GraphCall))


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
