"""Changing: mutations and loads."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response

from omnigraph.base.choices import LoadMode, OnError, ReadEngine, SourceFormat
from omnigraph.base.errors import BadInput, OmniError, ResourceLimit
from omnigraph.server.bodies import MutateBody
from omnigraph.server.calls import GraphCall, GraphDep, WriteDep, WriteHeaders, refuse_precondition
from omnigraph.server.exactness import read_params
from omnigraph.server.requests.spool import write_body
from omnigraph.server.requests.work import WorkRoute, current_workshop, note_commit
from omnigraph.wire.values import encode

router = APIRouter(route_class=WorkRoute, tags=["writes"])

BodyFormat = Literal["ndjson", "csv", "parquet", "arrow"]
_FILES: dict[BodyFormat, tuple[str, SourceFormat]] = {
    "ndjson": (".jsonl", "json"),
    "csv": (".csv", "csv"),
    "parquet": (".parquet", "parquet"),
    "arrow": (".arrow", "arrow"),
}
"""By the format in the path: the end of a file's name, and what a load calls it."""


@router.post("/mutate")
def run_mutation(call: GraphDep, headers: WriteDep, body: MutateBody) -> dict[str, Any]:
    """Run a mutation query as one commit."""
    given = body.model_dump(exclude={"query"}) | {"params": read_params(body.params)}
    graph = call.open()
    done = graph.mutate(
        body.query, **given, if_commit=headers.if_commit, idempotency_key=headers.idempotency_key
    )
    return {
        "branch": body.branch or graph.branch,
        "query_name": body.name,
        "affected_nodes": done.affected_nodes,
        "affected_edges": done.affected_edges,
        "warnings": list(done.warnings),
        "actor_id": call.caller.actor,
        "commit": done.commit_id,
    }


@dataclass(frozen=True)
class LoadOptions:
    """What the address of a load says beside its format and mode."""

    branch: str | None = None
    from_branch: Annotated[str | None, Query(alias="from")] = None
    type: str | None = None
    message: str | None = None
    engine: ReadEngine = "local"
    on_error: OnError = "fail"
    mapping: Annotated[str | None, Query(description="Properties by column, as a JSON object.")] = None
    rules: Annotated[str | None, Query(description="The text of a mapping file.")] = None
    metadata: Annotated[str | None, Query(description="Noted in the commit: a JSON object of strings.")] = (
        None
    )
    source: Annotated[str | None, Query(description="What errors call the body.")] = None


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
    refuse_precondition(headers)
    workshop = current_workshop()
    await workshop.run(call.open)  # where there is no graph, no body is read
    folder = tempfile.mkdtemp(prefix="omnigraph-load-")
    path = os.path.join(folder, f"body{_FILES[format][0]}")

    def load() -> Response:
        try:
            done = _load(call, headers, folder, path, format, mode, options)
        except OmniError as error:
            raise _without_path(error, folder, path, format, options.source) from error
        note_commit(done)
        return JSONResponse(done)

    try:
        await write_body(request.stream(), Path(path), workshop.limits.load_bytes, workshop)
        return await workshop.run(load, writes=True)
    finally:
        # A load that goes on without a client stops at its next checkpoint, or has read the file.
        shutil.rmtree(folder, ignore_errors=True)


async def bounded(request: Request, most: int) -> AsyncIterator[bytes]:
    """Yield a body in pieces, or refuse it when it is too large."""
    taken = 0
    async for piece in request.stream():
        taken += len(piece)
        if taken > most:
            raise ResourceLimit(
                f"the body has more than {most} bytes: load a file in parts, or with the engine",
                resource="load_body_bytes",
                limit=most,
                actual=taken,
            )
        yield piece


def _without_path(
    error: OmniError, folder: str, path: str, format: BodyFormat, source: str | None
) -> OmniError:
    """Return an error that names records of the body or its source, not the file that it was kept in."""
    word = "record" if format == "ndjson" else "line"

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            if source is not None:
                return value.replace(path, source)
            return value.replace(f"{path}:", f"{word} ").replace(path, "the body").replace(folder, "the body")
        if isinstance(value, Mapping):
            return {name: clean(item) for name, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    cleaned = copy(error)
    OmniError.__init__(cleaned, clean(error.message), **clean(encode(error.details)))
    return cleaned


def _load(
    call: GraphCall,
    headers: WriteHeaders,
    folder: str,
    path: str,
    format: BodyFormat,
    mode: LoadMode,
    options: LoadOptions,
) -> dict[str, Any]:
    graph = call.open()
    rejected = os.path.join(folder, "rejected.jsonl")
    done = graph.load(
        path,
        mode=mode,
        branch=options.branch,
        from_branch=options.from_branch,
        engine=options.engine,
        format=_FILES[format][1],
        mapping=_read_mapping(options, folder),
        type=options.type,
        on_error=options.on_error,
        rejected_to=rejected if options.on_error == "quarantine" else None,
        message=options.message,
        idempotency_key=headers.idempotency_key,
        metadata=read_object("metadata", options.metadata),
    )
    nodes = [{"name": name, "entities_loaded": count} for name, count in done.nodes.items()]
    edges = [{"name": name, "entities_loaded": count} for name, count in done.edges.items()]
    return {
        "branch": options.branch or graph.branch,
        "base_branch": options.from_branch,
        "mode": mode,
        "nodes": nodes,
        "edges": edges,
        "total_entities": sum(item["entities_loaded"] for item in (*nodes, *edges)),
        "rejected": done.rejected,
        "rejected_records": _read_rejected(done.rejected_path, path, options.source),
        "warnings": encode(done.warnings),
        "engine": done.engine,
        "engine_reason": done.engine_reason,
        "seconds": done.seconds,
        "bytes_read": done.bytes_read,
        "bytes_written": done.bytes_written,
        "phases": encode(done.phases),
        "actor_id": call.caller.actor,
        "commit": done.commit_id,
    }


def _read_mapping(options: LoadOptions, folder: str) -> Mapping[str, str] | str | None:
    """Return a mapping of columns, or the path of a mapping file."""
    if options.rules is None:
        return read_object("mapping", options.mapping)
    if options.mapping is not None:
        raise BadInput("give a mapping of columns or the rules of a mapping file, not both")
    path = os.path.join(folder, "mapping.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(options.rules)
    return path


def read_object(name: str, given: str | None) -> dict[str, str] | None:
    """Return strings by name, which a parameter holds as JSON."""
    if given is None:
        return None
    try:
        found = json.loads(given)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadInput(f"{name} is {given!r}: give a JSON object of strings")
    return found


def _read_rejected(kept: str | None, path: str, source: str | None) -> list[str]:
    """Return the records that were left out, each as a line of JSON, with the reasons."""
    if kept is None:
        return []
    with open(kept, encoding="utf-8") as file:
        return [line.rstrip("\n").replace(path, source or "the body") for line in file]
