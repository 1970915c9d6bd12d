"""Blobs: their bytes, whole or a range of them, and writing them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.responses import Response

from omnigraph.base.choices import EntityKind
from omnigraph.base.errors import BadInput, PreconditionFailed
from omnigraph.sdk.entities.blob import BlobHandle
from omnigraph.server.calls import GraphDep, WriteDep, WriteHeaders
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.refusals import refuse
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.server.requests.spool import limit_body
from omnigraph.server.requests.streams import StreamedAnswer
from omnigraph.wire.media import COMMIT_HEADER, NULL_HEADER
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["blobs"])
_BYTES = "application/octet-stream"
_INSTEAD = "load a file in parts, or with the engine"
_PARTS: dict[int | str, dict[str, Any]] = {
    206: {"description": "A part of the bytes."},
    304: {"description": "The bytes are those that the caller has."},
}
_NO_COMMIT = "00000000000000000000000000"
"""Never the head of a branch."""
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")


def find_blob(
    call: GraphDep,
    entity: EntityKind,
    type: str,
    id: str,
    property: str,
    branch: str | None = None,
    snapshot: str | None = None,
) -> BlobHandle:
    """Return the blob that an address names."""
    return call.open().blob(entity, type, id, property, branch=branch, snapshot=snapshot)


def find_blob_to_write(
    call: GraphDep,
    terms: WriteDep,
    entity: EntityKind,
    type: str,
    id: str,
    property: str,
    branch: str | None = None,
    if_match: Annotated[str | None, Header(description="The ETag that the blob must still have.")] = None,
) -> BlobHandle:
    """Return the blob that a write names; what it commits holds to the headers."""
    blob = call.open(headers=terms).blob(entity, type, id, property, branch=branch)
    if if_match is None or if_match.strip() == "*":
        return blob
    is_same = _etag(blob) in [tag.strip() for tag in if_match.split(",")]
    # One that has changed is as if the head were another: a write with a key that was made is still answered.
    commit = terms.if_commit or blob.commit_id if is_same else _NO_COMMIT
    held = call.open(headers=WriteHeaders(terms.idempotency_key, commit))
    return held.blob(entity, type, id, property, branch=branch)


BlobDep = Annotated[BlobHandle, Depends(find_blob)]
WrittenBlobDep = Annotated[BlobHandle, Depends(find_blob_to_write)]


@router.get("/blob", response_class=Response, responses=_PARTS)
def read_blob(
    blob: BlobDep,
    range: Annotated[str | None, Header(examples=["bytes=0-1023"])] = None,
    if_none_match: Annotated[str | None, Header(description="The ETag of bytes that the caller has.")] = None,
    if_range: Annotated[str | None, Header(description="The ETag that a range must be of.")] = None,
) -> Response:
    """Return the bytes of a blob; with `Range`, some of them."""
    headers = _headers(blob)
    if blob.is_null:
        blob.read()  # raises what this is
    if if_none_match is not None and _has_tag(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    size = blob.size or 0
    wanted = _read_range(range, size) if if_range in (None, headers["ETag"]) else None
    if wanted is None:
        headers["Content-Length"] = str(size)
        return StreamedAnswer(blob.pieces(), _BYTES, headers)
    start, end = wanted
    if start >= size:
        refused = refuse(f"the blob has {size} bytes", "range_not_satisfiable", size=size)
        refused.headers["Content-Range"] = f"bytes */{size}"
        return refused
    headers |= {"Content-Range": f"bytes {start}-{end - 1}/{size}", "Content-Length": str(end - start)}
    return StreamedAnswer(blob.pieces(start, end - start), _BYTES, headers, 206)


@router.head("/blob", response_class=Response)
def show_blob(blob: BlobDep) -> Response:
    """Return the size of a blob, and whether there is one."""
    return Response(headers=_headers(blob) | {"Content-Length": str(blob.size or 0)}, media_type=_BYTES)


@router.get("/blob/info")
def describe_blob(blob: BlobDep) -> dict[str, Any]:
    """Return the size of a blob, null when there is none, and the commit that it is of."""
    return {"size": blob.size, "commit": blob.commit_id}


@router.put("/blob")
async def put_blob(
    request: Request, headers: WriteDep, blob: WrittenBlobDep, call: GraphDep, message: str | None = None
) -> dict[str, Any]:
    """Store the body as the bytes of a blob, as one commit; a text as a load takes it (`base64:…`)."""
    pieces = limit_body(request.stream(), request.app.state.limits.load_bytes, _INSTEAD)
    body = b"".join([piece async for piece in pieces])
    data: bytes | str = body
    if request.headers.get("content-type", "").startswith("text/"):
        try:
            data = body.decode()
        except ValueError:
            raise BadInput("the text is not UTF-8") from None

    def put() -> object:
        with _told_by_etag():
            return blob.put(data, message=message)

    done = await current_pool().run(put, writes=True)
    return {**encode(done), "blob_commit": blob.commit_id}


@router.delete("/blob")
def clear_blob(
    headers: WriteDep, blob: WrittenBlobDep, call: GraphDep, message: str | None = None
) -> dict[str, Any]:
    """Set a blob to null as one commit."""
    with _told_by_etag():
        done = blob.clear(message=message)
    return {**encode(done), "blob_commit": blob.commit_id}


@contextmanager
def _told_by_etag() -> Iterator[None]:
    """Say that bytes have changed where that was found by their ETag, and no commit was named."""
    try:
        yield
    except PreconditionFailed as error:
        if error.expected != _NO_COMMIT:
            raise
        raise PreconditionFailed(
            "the blob has another ETag than If-Match names: read it again and decide anew",
            branch=error.branch,
            actual=error.actual,
        ) from None


def _headers(blob: BlobHandle) -> dict[str, str]:
    null = "true" if blob.is_null else "false"
    return {
        "Accept-Ranges": "bytes",
        "ETag": _etag(blob),
        COMMIT_HEADER: blob.commit_id,
        NULL_HEADER: null,
    }


def _etag(blob: BlobHandle) -> str:
    """Return what changes whenever the bytes may have: the version of the table, and the place in it."""
    stamp = json.dumps(blob.stamp, default=str)
    return f'"{hashlib.sha256(stamp.encode()).hexdigest()[:32]}"'


def _has_tag(given: str, tag: str) -> bool:
    """Return whether a list of tags holds one; caches may have marked it as weak."""
    return any(item.strip().removeprefix("W/") in (tag, "*") for item in given.split(","))


def _read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the half-open range that a header asks for; what is not a single range is passed over."""
    found = _RANGE.fullmatch((header or "").strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        return max(size - int(found[2]), 0), size
    start = int(found[1])
    if found[2] and int(found[2]) < start:
        return None
    return start, min(int(found[2]) + 1, size) if found[2] else size
