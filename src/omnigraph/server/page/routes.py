"""The page: the files that were built into the package, with the rules that a browser holds them to."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from omnigraph.base.errors import NotFound

router = APIRouter(include_in_schema=False)
FILES = Path(__file__).resolve().parent / "files"
_MANNERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob:",
            "connect-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Vary": "Accept-Encoding",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page, as it is and compressed."""

    media_type: str
    data: bytes
    packed: bytes
    etag: str


@cache
def read_file(name: str) -> PageFile:
    """Return a file of the page, read and compressed once in a process."""
    data = (FILES / name).read_bytes()
    digest = hashlib.sha256(data).hexdigest()[:32]
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return PageFile(kind, data, gzip.compress(data, mtime=0), digest)


@cache
def list_assets() -> frozenset[str]:
    """Return the names of what was built."""
    return frozenset(path.name for path in (FILES / "assets").iterdir())


@router.get("/")
@router.get("/ui")
@router.get("/ui/{place:path}")
def show_page(request: Request, place: str = "") -> Response:
    """Return the page, whatever place in it is asked for: it finds the place itself."""
    return _answer(request, "index.html", _ASK_AGAIN)


@router.get("/favicon.svg")
def show_icon(request: Request) -> Response:
    """Return the icon of the page."""
    return _answer(request, "favicon.svg", _ASK_AGAIN)


@router.get("/assets/{name}")
def show_asset(request: Request, name: str) -> Response:
    """Return a file whose name changes when it does."""
    if name not in list_assets():
        raise NotFound(f"the page has no file {name!r}", file=name)
    return _answer(request, f"assets/{name}", _FOR_EVER)


def _answer(request: Request, name: str, cached: str) -> Response:
    file = read_file(name)
    packs = "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{file.etag}{"-gzip" if packs else ""}"'
    headers = _MANNERS | {"Cache-Control": cached, "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if packs:
        return Response(
            file.packed, media_type=file.media_type, headers=headers | {"Content-Encoding": "gzip"}
        )
    return Response(file.data, media_type=file.media_type, headers=headers)
