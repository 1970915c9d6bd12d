"""Changing: mutations and loads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from copy import copy
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from omnigraph.base.choices import LoadMode, SourceFormat
from omnigraph.base.errors import OmniError, ResourceLimit
from omnigraph.server.bodies import MutateBody
from omnigraph.server.calls import GraphCall, GraphDep, WriteDep, WriteHeaders, refuse_precondition
from omnigraph.wire.values import encode

router = APIRouter(tags=["writes"])

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
    given = body.model_dump(exclude={"query"})
    done = call.open().mutate(
        body.query, **given, if_commit=headers.if_commit, idempotency_key=headers.idempotency_key
    )
    return {
        "branch": body.branch or "main",
        "query_name": body.name,
        "affected_nodes": done.affected_nodes,
        "affected_edges": done.affected_edges,
        "warnings": list(done.warnings),
        "actor_id": call.caller.actor,
        "commit": done.commit_id,
    }


@router.post("/load/{format}")
async def load_records(
    request: Request,
    call: GraphDep,
    headers: WriteDep,
    format: BodyFormat,
    mode: LoadMode,
    branch: str | None = None,
    from_branch: Annotated[str | None, Query(alias="from")] = None,
    type: str | None = None,
    message: str | None = None,
) -> dict[str, Any]:
    """Load the body as one commit: graph records as NDJSON, or rows of one type as CSV, Parquet or Arrow."""
    refuse_precondition(headers)
    most: int = request.app.state.limits.load_bytes
    with tempfile.TemporaryDirectory(prefix="omnigraph-load-") as folder:
        path = os.path.join(folder, f"body{_FILES[format][0]}")
        with open(path, "wb") as file:
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
                file.write(piece)
        try:
            return await run_in_threadpool(
                _load, call, headers, path, format, mode, branch, from_branch, type, message
            )
        except OmniError as error:
            raise _without_path(error, path, format) from error


def _without_path(error: OmniError, path: str, format: BodyFormat) -> OmniError:
    """Return an error that names records of the body, not the file that the server keeps it in."""
    word = "record" if format == "ndjson" else "line"

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(f"{path}:", f"{word} ").replace(path, "the body")
        if isinstance(value, Mapping):
            return {name: clean(item) for name, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    cleaned = copy(error)
    OmniError.__init__(cleaned, clean(error.message), **clean(encode(error.details)))
    return cleaned


def _load(
    call: GraphCall,
    headers: WriteHeaders,
    path: str,
    format: BodyFormat,
    mode: LoadMode,
    branch: str | None,
    from_branch: str | None,
    type: str | None,
    message: str | None,
) -> dict[str, Any]:
    done = call.open().load(
        path,
        mode=mode,
        branch=branch,
        from_branch=from_branch,
        engine="local",
        format=_FILES[format][1],
        type=type,
        message=message,
        idempotency_key=headers.idempotency_key,
    )
    nodes = [{"name": name, "entities_loaded": count} for name, count in done.nodes.items()]
    edges = [{"name": name, "entities_loaded": count} for name, count in done.edges.items()]
    return {
        "branch": branch or "main",
        "base_branch": from_branch,
        "mode": mode,
        "nodes": nodes,
        "edges": edges,
        "total_entities": sum(item["entities_loaded"] for item in (*nodes, *edges)),
        "warnings": encode(done.warnings),
        "seconds": done.seconds,
        "actor_id": call.caller.actor,
        "commit": done.commit_id,
    }
