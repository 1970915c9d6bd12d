"""Blobs: their bytes, whole or a range of them, and writing them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response

from omnigraph.base.choices import EntityKind
from omnigraph.base.errors import BadInput
from omnigraph.sdk.entities.blob import BlobHandle
from omnigraph.server.calls import GraphDep
from omnigraph.server.requests.refusals import refuse
from omnigraph.server.requests.streams import StreamedAnswer
from omnigraph.server.requests.work import WorkRoute, current_workshop
from omnigraph.server.routes.writes import bounded
from omnigraph.wire.media import COMMIT_HEADER, NULL_HEADER
from omnigraph.wire.values import encode

router = APIRouter(route_class=WorkRoute, tags=["blobs"])
_BYTES = "application/octet-stream"
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


BlobDep = Annotated[BlobHandle, Depends(find_blob)]


@router.get("/blob", response_class=Response, responses={206: {"description": "A part of the bytes."}})
def read_blob(
    blob: BlobDep, range: Annotated[str | None, Header(examples=["bytes=0-1023"])] = None
) -> Response:
    """Return the bytes of a blob; with `Range`, some of them."""
    headers = _headers(blob)
    if blob.is_null:
        blob.read()  # raises what this is
    size = blob.size or 0
    wanted = _read_range(range, size)
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
async def put_blob(request: Request, blob: BlobDep, message: str | None = None) -> dict[str, Any]:
    """Store the body as the bytes of a blob, as one commit; a text as a load takes it (`base64:…`)."""
    parts = [piece async for piece in bounded(request, request.app.state.limits.load_bytes)]
    body = b"".join(parts)
    data: bytes | str = body
    if request.headers.get("content-type", "").startswith("text/"):
        try:
            data = body.decode()
        except ValueError:
            raise BadInput("the text is not UTF-8") from None
    done = await current_workshop().run(lambda: blob.put(data, message=message), writes=True)
    return {**encode(done), "blob_commit": blob.commit_id}


@router.delete("/blob")
def clear_blob(blob: BlobDep, message: str | None = None) -> dict[str, Any]:
    """Set a blob to null as one commit."""
    done = blob.clear(message=message)
    return {**encode(done), "blob_commit": blob.commit_id}


def _headers(blob: BlobHandle) -> dict[str, str]:
    null = "true" if blob.is_null else "false"
    return {"Accept-Ranges": "bytes", COMMIT_HEADER: blob.commit_id, NULL_HEADER: null}


def _read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the half-open range that a header asks for; what is no single range is passed over."""
    found = _RANGE.fullmatch((header or "").strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        return max(size - int(found[2]), 0), size
    start = int(found[1])
    if found[2] and int(found[2]) < start:
        return None
    return start, min(int(found[2]) + 1, size) if found[2] else size
