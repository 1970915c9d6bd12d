"""The application: routes, errors in one shape, who may call, which graphs there are."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

import omnigraph
from omnigraph.base.errors import OmniError, Unauthorized
from omnigraph.graph.manifest.format import CURRENT
from omnigraph.server.calls import KnownCaller
from omnigraph.server.exactness import ExactValues
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.identity import Tokens
from omnigraph.server.limits import BodyLimit, RequestLimits
from omnigraph.server.routes import blobs, branches, commits, feed, maintenance, reads, schema, writes
from omnigraph.wire.errors import answer_error

_log = logging.getLogger("omnigraph.server")
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}


@dataclass(frozen=True)
class ServerConfig:
    """What a server is started with."""

    graphs: Mapping[str, str]
    """Addresses by name."""
    tokens: Tokens = field(default_factory=Tokens)
    limits: RequestLimits = field(default_factory=RequestLimits)


def create_app(config: ServerConfig) -> FastAPI:
    """Return the application that serves some graphs."""
    app = FastAPI(
        title="OmniGraph", version=omnigraph.__version__, lifespan=_lifespan, docs_url=None, redoc_url=None
    )
    app.state.graphs = ServedGraphs(config.graphs)
    app.state.tokens = config.tokens
    app.state.limits = config.limits
    for part in (reads, writes, branches, commits, feed, blobs, schema, maintenance):
        app.include_router(part.router, prefix="/graphs/{graph}")
    app.add_api_route("/healthz", show_health, methods=["GET"], tags=["server"])
    app.add_api_route("/graphs", list_graphs, methods=["GET"], tags=["server"])
    app.add_middleware(BodyLimit, limits=config.limits)
    app.add_middleware(ExactValues)
    app.add_exception_handler(OmniError, _tell_error)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_exception_handler(HTTPException, _tell_http)
    app.add_exception_handler(Exception, _tell_fault)
    return app


def show_health(request: Request) -> dict[str, Any]:
    """Say that the server works, and which graphs it could not open."""
    graphs: ServedGraphs = request.app.state.graphs
    return {
        "status": "ok",
        "version": omnigraph.__version__,
        "internal_schema_version": CURRENT,
        "graphs": graphs.names,
        "quarantined": {name: item.error.code for name, item in graphs.quarantined.items()},
    }


def list_graphs(request: Request, caller: KnownCaller) -> dict[str, Any]:
    """Return the graphs that are served."""
    return {"graphs": request.app.state.graphs.names}


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    await run_in_threadpool(app.state.graphs.open_all)
    yield
    app.state.graphs.close()


async def _tell_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OmniError)
    answer = answer_error(error)
    headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(answer.body, answer.status, headers)


async def _tell_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [
        {"where": ".".join(str(part) for part in item["loc"]), "problem": item["msg"]}
        for item in error.errors()
    ]
    said = "; ".join(f"{item['where']}: {item['problem']}" for item in problems)
    return JSONResponse({**_plain_body(said, "bad_input"), "details": {"problems": problems}}, 400)


async def _tell_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    body = _plain_body(str(error.detail), _CODES.get(error.status_code, "bad_input"))
    return JSONResponse(body, error.status_code, dict(error.headers or {}))


async def _tell_fault(request: Request, error: Exception) -> JSONResponse:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return JSONResponse(_plain_body("the server has failed; its log says why", "error"), 500)


def _plain_body(message: str, code: str) -> dict[str, Any]:
    return {"error": message, "code": code, "retryable": False, "details": {}}
