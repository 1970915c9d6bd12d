"""What every route of a graph begins with: who calls, which graph, and what the headers of a write say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Request
from starlette.concurrency import run_in_threadpool

from omnigraph.base.errors import BadInput, Unauthorized
from omnigraph.sdk.graph import Graph
from omnigraph.server.context import current_request
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.identity import Identity
from omnigraph.wire.media import read_header

_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: an actor, or nobody where no token is asked for."""

    actor: str | None


def graphs_of(request: Request) -> ServedGraphs:
    """Return what is served to a request: the same from its beginning to its end."""
    state = current_request()
    served: ServedGraphs = request.app.state.served.now if state is None else state.graphs
    return served


async def find_caller(request: Request) -> Caller:
    """Return who calls; an identity comes from a token and from nothing else."""
    identity: Identity = request.app.state.tokens
    if identity.is_open:
        return Caller(None)
    given = read_header(request.headers.get("authorization", ""))
    actor = None
    if given.lower().startswith(_BEARER):
        token = given[len(_BEARER) :].strip()
        if identity.asks_others:
            actor = await run_in_threadpool(identity.find_actor, token)
        else:
            actor = identity.find_actor(token)
    if actor is None:
        raise Unauthorized("this server needs a token that it knows: send it as `Authorization: Bearer …`")
    state = current_request()
    if state is not None:
        state.actor = actor
    return Caller(actor)


@dataclass(frozen=True, slots=True)
class WriteHeaders:
    """What the headers of a write ask for."""

    idempotency_key: str | None
    if_commit: str | None


@dataclass(frozen=True, slots=True)
class GraphCall:
    """One request to one graph."""

    name: str
    caller: Caller
    graphs: ServedGraphs
    branch: str | None = None
    """The branch that the caller's own handle works on."""
    incarnation: str | None = None
    """Which of the branches that had this name it is."""

    def open(self, branch: str | None = None, headers: WriteHeaders | None = None) -> Graph:
        """Return a handle for this request, on a branch or on that of the caller's handle.

        With the headers of a write, the commit that it makes holds to them.
        """
        terms = {} if headers is None else asdict(headers)
        if branch is not None:
            return self.graphs.handle(self.name, branch, self.caller.actor, **terms)
        return self.graphs.handle(self.name, self.branch, self.caller.actor, self.incarnation, **terms)


async def find_call(
    request: Request,
    graph: Annotated[str, Path(description="The name of a graph.", examples=["people"])],
    omnigraph_handle: Annotated[
        str | None,
        Header(
            description="`branch@incarnation`: what is asked of no branch is asked of this one, and the "
            "answer is `branch_gone` when another branch has its name now. `GET` of the graph returns both."
        ),
    ] = None,
) -> GraphCall:
    """Return the request's graph; who is not known does not learn which graphs there are."""
    caller = await find_caller(request)
    branch, _, incarnation = (omnigraph_handle or "").rpartition("@")
    if omnigraph_handle is not None and not (branch and incarnation):
        raise BadInput(f"Omnigraph-Handle is {omnigraph_handle!r}: give a branch, @, and its incarnation")
    return GraphCall(graph, caller, graphs_of(request), unquote(branch) or None, incarnation or None)


async def read_write_headers(
    idempotency_key: Annotated[
        str | None, Header(description="The same key again answers with the first result.")
    ] = None,
    omnigraph_if_graph_commit: Annotated[
        str | None, Header(description="The commit that must still be the branch's head.")
    ] = None,
) -> WriteHeaders:
    """Return what the headers of a write say."""
    commit = omnigraph_if_graph_commit
    if commit is not None and (commit == "*" or commit.startswith(('"', "W/"))):
        raise BadInput(f"Omnigraph-If-Graph-Commit is {commit!r}: give a commit id, without quotes")
    return WriteHeaders(None if idempotency_key is None else read_header(idempotency_key), commit)


def refuse_precondition(headers: WriteHeaders) -> None:
    """Refuse a precondition where the operation cannot hold to it."""
    if headers.if_commit is not None:
        raise BadInput("this operation takes no Omnigraph-If-Graph-Commit")


async def read_condition(
    headers: Annotated[WriteHeaders, Depends(read_write_headers)],
) -> str | None:
    """Return the commit that must still be the head, of a write that must name one."""
    if headers.if_commit is None:
        raise BadInput("this path is for Omnigraph-If-Graph-Commit, which is missing")
    return headers.if_commit


async def read_head(
    omnigraph_if_graph_commit: Annotated[
        str | None, Header(description="The commit that must still be the branch's head.")
    ] = None,
) -> str | None:
    """Return the commit that must still be the head, of a write whose key is kept by the server."""
    return (await read_write_headers(None, omnigraph_if_graph_commit)).if_commit


KnownCaller = Annotated[Caller, Depends(find_caller)]
GraphDep = Annotated[GraphCall, Depends(find_call)]
WriteDep = Annotated[WriteHeaders, Depends(read_write_headers)]
HeadDep = Annotated[str | None, Depends(read_head)]
