"""Changing: mutations and loads."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import Response

from omnigraph.base.choices import LoadMode
from omnigraph.base.errors import OmniError
from omnigraph.base.handed.process_folders import working_folder
from omnigraph.server.answers import describe_mutation
from omnigraph.server.bodies import LoadBody, MutateBody
from omnigraph.server.calls import GraphCall, GraphDep, WriteDep, WriteHeaders, read_condition
from omnigraph.server.exactness import read_params
from omnigraph.server.loads import FILES, BodyFormat, LoadOptions, load_file, name_records
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.engine_route import EngineRoute, note_commit
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.server.requests.spool import write_body

router = GraphRouter(route_class=EngineRoute, tags=["writes"])


@router.post("/mutate")
def run_mutation(call: GraphDep, headers: WriteDep, body: MutateBody) -> dict[str, Any]:
    """Run a mutation query as one commit."""
    return _mutate(call, headers, body)


def _mutate(call: GraphCall, headers: WriteHeaders, body: MutateBody) -> dict[str, Any]:
    given = body.model_dump(exclude={"query"}) | {"params": read_params(body.params)}
    graph = call.open()
    done = graph.mutate(
        body.query, **given, if_commit=headers.if_commit, idempotency_key=headers.idempotency_key
    )
    return describe_mutation(done, body.branch or graph.branch, body.name, call.caller.actor)


@router.post("/mutate/if-graph-commit", dependencies=[Depends(read_condition)])
def run_mutation_if(call: GraphDep, headers: WriteDep, body: MutateBody) -> dict[str, Any]:
    """Run a mutation query on the condition that a header names, which is needed here."""
    return _mutate(call, headers, body)


@router.post("/load")
def load_text(call: GraphDep, headers: WriteDep, body: LoadBody) -> dict[str, Any]:
    """Load graph records as one commit: lines of JSON in a string."""
    with working_folder("load") as folder:
        path = os.path.join(folder, f"body{FILES['ndjson'][0]}")
        Path(path).write_bytes(body.data.encode(errors="surrogatepass"))
        options = LoadOptions(
            branch=body.branch,
            from_branch=body.from_branch,
            message=body.message,
            on_error=body.on_error,
            metadata=None if body.metadata is None else json.dumps(body.metadata),
        )
        try:
            return load_file(call, headers, folder, path, "ndjson", body.mode, options)
        except OmniError as error:
            raise name_records(error, folder, path, "ndjson", None) from error


@router.post("/load/{format}")
async def load_records(
    request: Request,
    call: GraphDep,
    headers: WriteDep,
    format: BodyFormat,
    mode: LoadMode,
    options: Annotated[LoadOptions, Depends()],
) -> Response:
    """Load the body as one commit: graph records as NDJSON, or rows of one type as CSV, Parquet or Arrow."""
    pool = current_pool()
    await pool.run(_check_load, call, options)  # what is denied, or has no graph, is not read
    # A load that goes on without a client stops at its next checkpoint, or has read the file.
    with working_folder("load") as folder:
        path = os.path.join(folder, f"body{FILES[format][0]}")

        def load() -> Response:
            try:
                done = load_file(call, headers, folder, path, format, mode, options)
            except OmniError as error:
                raise name_records(error, folder, path, format, options.source) from error
            note_commit(done)
            return JsonAnswer(done)

        await write_body(request.stream(), Path(path), pool.limits.load_bytes, pool)
        return await pool.run(load, writes=True)


def _check_load(call: GraphCall, options: LoadOptions) -> None:
    graph = call.open()
    graph.internals.check_allowed("change", graph.internals.resolve_branch(options.branch))
