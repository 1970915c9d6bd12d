"""The application: routes, errors in one shape, who may call, which graphs there are."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

import omnigraph
from omnigraph.policy.gate import Gate
from omnigraph.server.addresses import AllowedAddresses
from omnigraph.server.agents import routes as agents
from omnigraph.server.bodies import MutateBody, QueryBody
from omnigraph.server.description.describe import describe_routes
from omnigraph.server.exactness import ExactValues
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.identity import Identity, Tokens
from omnigraph.server.jobs.runner import JobRunner
from omnigraph.server.jobs.store import default_state
from omnigraph.server.limits import RequestLimits
from omnigraph.server.observe.metrics import Metrics
from omnigraph.server.observe.traces import Traces
from omnigraph.server.page import routes as page
from omnigraph.server.policies import ServerPolicies
from omnigraph.server.requests.body_limit import BodyLimit
from omnigraph.server.requests.engine_pool import EnginePool
from omnigraph.server.requests.lifecycle import RequestLifecycle
from omnigraph.server.requests.refusals import add_refusals
from omnigraph.server.revisions.current import CurrentGraphs
from omnigraph.server.revisions.of_cluster import ClusterRevisions
from omnigraph.server.routes import (
    blobs,
    branches,
    commits,
    entities,
    feed,
    jobs,
    lance,
    maintenance,
    proposals,
    queries,
    reads,
    schema,
    status,
    writes,
)
from omnigraph.server.shortcuts import Shortcut, Shortcuts, find_route
from omnigraph.server.webhooks.config import Webhook
from omnigraph.server.webhooks.runner import WebhookRunner

_JOB_STOP_SECONDS = 10.0
"""How long a worker waits for a job to stop; one that does not is abandoned, and done by another."""


@dataclass(frozen=True)
class ServerConfig:
    """What a server is started with."""

    graphs: Mapping[str, str]
    """Addresses by name."""
    tokens: Identity = field(default_factory=Tokens)
    limits: RequestLimits = field(default_factory=RequestLimits)
    state: Path | None = None
    """The folder of what outlives the server; by default one of the user's."""
    allowed: tuple[str, ...] = ()
    """Prefixes of addresses that jobs may read and write."""
    metrics: Path | None = None
    """The folder where the workers of one server keep their numbers."""
    traces: Traces | None = None
    policies: Mapping[str, Gate] = field(default_factory=dict)
    """Who may do what in graphs, by their names."""
    server_policy: Gate | None = None
    """Who may do what with the server itself."""
    cluster: str | None = None
    """The root of a cluster, whose graphs and policies are served instead, newest first."""
    requires_all: bool = False
    """Whether each graph of the cluster must be served."""
    webhooks: tuple[Webhook, ...] = ()
    """Who is told what happens to proposals."""
    only_agents: bool = False
    """Whether there are the tools of agents and no other routes of graphs."""
    agents_read_only: bool = False
    """Whether agents have only tools that read."""


_SHORTCUTS = {
    "query": Shortcut(find_route(reads.router, "/query"), QueryBody),
    "mutate": Shortcut(find_route(writes.router, "/mutate"), MutateBody, writes=True),
}


def create_app(config: ServerConfig) -> FastAPI:
    """Return the application that serves some graphs."""
    app = FastAPI(
        title="OmniGraph",
        version=omnigraph.__version__,
        lifespan=_lifespan,
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
        # Ours are sent by `observe.traces`, one span for each request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.served = _choose_graphs(config)
    app.state.tokens = config.tokens
    app.state.limits = config.limits
    app.state.pool = EnginePool(config.limits, config.state or default_state())
    app.state.stopping = threading.Event()
    app.state.metrics = Metrics(config.metrics)
    app.state.traces = config.traces
    app.state.jobs = JobRunner(
        app.state.served,
        config.state or default_state(),
        AllowedAddresses(config.allowed),
        config.limits.jobs,
    )
    app.state.webhooks = WebhookRunner(app.state.served, config.state or default_state(), config.webhooks)
    app.state.agents, app.state.agents_read_only = None, config.agents_read_only
    # Each route before the one that is asked for costs time: what is asked most often comes first.
    app.include_router(status.router)
    parts = (reads, writes, queries, branches, commits, feed, blobs, entities, schema, maintenance, jobs)
    for part in (agents,) if config.only_agents else (*parts, proposals, agents):
        app.include_router(part.router, prefix="/graphs/{graph}")
    for part in () if config.only_agents else (lance, page):
        app.include_router(part.router)
    if not config.only_agents:
        app.add_middleware(Shortcuts, routes=_SHORTCUTS)
    app.add_middleware(BodyLimit, limits=config.limits)
    app.add_middleware(ExactValues)
    app.add_middleware(RequestLifecycle, limits=config.limits)
    add_refusals(app)
    app.openapi = describe_routes(app, config.tokens)  # type: ignore[method-assign]
    return app


def _choose_graphs(config: ServerConfig) -> CurrentGraphs:
    has_tokens = not config.tokens.is_open
    if config.cluster is not None:
        return CurrentGraphs(None, ClusterRevisions(config.cluster, has_tokens, config.requires_all))
    held = ServerPolicies.choose(has_tokens, config.policies, config.server_policy)
    return CurrentGraphs(ServedGraphs(config.graphs, held))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.served.on_change = app.state.metrics.note_graphs
    await run_in_threadpool(app.state.served.open)
    app.state.jobs.on_end = app.state.metrics.count_job
    app.state.jobs.start()
    app.state.webhooks.start()
    yield
    app.state.stopping.set()
    app.state.webhooks.stop()
    await agents.stop_host(app)
    app.state.jobs.stop()
    await run_in_threadpool(app.state.webhooks.join, _JOB_STOP_SECONDS)
    await run_in_threadpool(app.state.jobs.join, _JOB_STOP_SECONDS)
    app.state.pool.close()
    app.state.metrics.close()
    await run_in_threadpool(app.state.served.close)
