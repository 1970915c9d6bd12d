"""Stored queries: which there are, other ones, and running one by its name."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header
from fastapi.responses import Response

from omnigraph.compiler.stored.queries import QuerySet, StoredQuery
from omnigraph.compiler.stored.read import to_json
from omnigraph.compiler.stored.tools import describe_query, name_tools
from omnigraph.execution.result import Result
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.queries.files import QueryTexts
from omnigraph.server.answers import answer_result, answer_whole, choose_format, describe_mutation
from omnigraph.server.bodies import QueriesBody, RunBody
from omnigraph.server.calls import GraphCall, GraphDep, WriteDep, WriteHeaders, read_condition
from omnigraph.server.context import current_request
from omnigraph.server.exactness import read_params
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.engine_route import EngineRoute, note_commit
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.paging import PageDep
from omnigraph.server.requests.route_terms import checks_rights, reads_only
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.media import JSON
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["queries"])


@router.get("/queries")
def list_queries(
    call: GraphDep,
    page: PageDep,
    branch: str | None = None,
    snapshot: str | None = None,
    texts: bool = False,
) -> dict[str, Any]:
    """Return the stored queries, by name: what they say and take; with `texts`, their texts."""
    found = call.open().queries.list(branch=branch, snapshot=snapshot)
    return page.cut("queries", _describe(found, texts), lambda query: (query["name"],))


@router.get("/queries/{name}")
def show_query(
    call: GraphDep, name: str, branch: str | None = None, snapshot: str | None = None
) -> dict[str, Any]:
    """Return one stored query with its text."""
    found = call.open().queries.show(name, branch=branch, snapshot=snapshot)
    (described,) = _describe([found], texts=True)
    return described


@router.post("/queries")
@checks_rights
def apply_queries(call: GraphDep, headers: WriteDep, body: QueriesBody) -> dict[str, Any]:
    """Store queries, or remove some, in one commit; the texts are those of files, by name."""
    handle = call.open(None, headers).queries
    given = body.model_dump(include={"branch", "message", "metadata"})
    if body.remove is not None:
        done = handle.remove(body.remove, **given)
    else:
        done = handle.apply(QueryTexts(body.files or {}), mode=body.mode, **given)
    found: dict[str, Any] = encode(done)
    return found


@router.post("/queries/{name}/if-graph-commit", dependencies=[Depends(read_condition)])
@checks_rights
async def run_stored_query_if(
    call: GraphDep,
    headers: WriteDep,
    name: str,
    body: RunBody | None = None,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """Run a stored query on the condition that a header names, which is needed here."""
    return await _run_stored(call, headers, name, body, accept)


@router.post("/queries/{name}")
@reads_only
async def run_stored_query(
    call: GraphDep,
    headers: WriteDep,
    name: str,
    body: RunBody | None = None,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """Run a stored query: a read answers as `/query` does, a mutation as `/mutate` does."""
    return await _run_stored(call, headers, name, body, accept)


async def _run_stored(
    call: GraphCall, headers: WriteHeaders, name: str, body: RunBody | None, accept: str | None
) -> Response:
    asked, pool = body or RunBody.model_validate({}), current_pool()
    graph = await pool.run(call.open)
    query = await pool.run(_find, graph, name, asked)
    if not query.is_mutation:
        return await pool.run(_read, graph, query, asked, headers, accept)
    request = current_request()
    size = 0 if request is None else request.body_bytes
    with pool.admission.admit(call.caller.actor, size):
        return await pool.run(_write, graph, query, asked, headers, call, writes=True)


def _find(graph: Graph, name: str, asked: RunBody) -> StoredQuery:
    """Return the query; which kind it is says which threads run it."""
    return graph.queries.show(name, branch=asked.branch, snapshot=asked.snapshot)


def _read(
    graph: Graph, query: StoredQuery, asked: RunBody, headers: WriteHeaders, accept: str | None
) -> Response:
    result = _run(graph, query, asked, headers, idempotency_key=None)
    assert isinstance(result, Result)
    media_type = choose_format(accept)
    if media_type != JSON:
        return answer_whole(result, media_type)
    return answer_result(result, query.name, {"branch": asked.branch, "snapshot": asked.snapshot})


def _write(
    graph: Graph, query: StoredQuery, asked: RunBody, headers: WriteHeaders, call: GraphCall
) -> Response:
    done: Any = _run(graph, query, asked, headers, idempotency_key=headers.idempotency_key)
    made = describe_mutation(done, asked.branch or graph.branch, query.name, call.caller.actor)
    note_commit(made)
    return JsonAnswer(made)


def _run(
    graph: Graph, query: StoredQuery, asked: RunBody, headers: WriteHeaders, idempotency_key: str | None
) -> Any:
    given = asked.model_dump(exclude={"params"}) | {"params": read_params(asked.params)}
    return graph.run(query.name, **given, if_commit=headers.if_commit, idempotency_key=idempotency_key)


def _describe(queries: list[StoredQuery], texts: bool) -> list[dict[str, Any]]:
    found = QuerySet.of(queries)
    names = name_tools(found)
    stored = {item["name"]: item for item in to_json(found)} if texts else {}
    return [
        {**describe_query(query, names[query.name]), **stored.get(query.name, {})} for query in found.values()
    ]
