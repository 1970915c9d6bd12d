"""Blobs that are given by an address: none may be read unless whoever runs the program allows it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import urlsplit

from omnigraph.base.errors import BadInput, NotFound, ResourceLimit
from omnigraph.base.settings import Settings
from omnigraph.storage.files.inputs import local_path
from omnigraph.storage.files.whole_files import read_whole

VARIABLE = "OMNIGRAPH_BLOB_SOURCES"
"""Folders and prefixes, separated by commas: `s3://bucket/papers/,file:///data/scans/`."""
_SCHEMES = ("s3", "file")
_MAX_ADDRESS_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class BlobSources:
    """From where the blobs of one graph may come, whatever the environment says."""

    folders: tuple[str, ...]
    """Each with a slash at its end."""
    said_by: str
    """What lists them, for people."""


_said: ContextVar[BlobSources | None] = ContextVar("omnigraph_blob_sources", default=None)


@contextmanager
def allow_sources(sources: BlobSources | None) -> Iterator[None]:
    """Read blobs from these sources inside the block; None leaves it to the environment."""
    token = _said.set(sources)
    try:
        yield
    finally:
        _said.reset(token)


def said_sources() -> BlobSources | None:
    """Return the sources of the block that this runs in, for who does a part of its work elsewhere."""
    return _said.get()


def read_source(address: str) -> bytes:
    """Return the bytes at an address that may be read, or raise ValueError with the reason."""
    said = _said.get()
    allowed = list_allowed() if said is None else said.folders
    list_ = VARIABLE if said is None else said.said_by
    if not allowed:
        raise ValueError(
            "names an external source, which no policy allows: inline the bytes as base64:…, or allow its "
            f"folder by {list_}"
        )
    _check_address(address)
    if not any(_is_inside(address, folder) for folder in allowed):
        raise ValueError(f"names the external source {address[:200]!r}, which is in no folder of {list_}")
    try:
        return read_whole(address, Settings.from_environment().blob_source_bytes)
    except (NotFound, ResourceLimit, BadInput) as error:
        raise ValueError(f"names an external source: {error.message}") from None


def list_allowed() -> list[str]:
    """Return the folders and prefixes that may be read, each with a slash at its end."""
    given = (item.strip() for item in os.environ.get(VARIABLE, "").split(","))
    allowed = [item.rstrip("/") + "/" for item in given if item]
    for item in allowed:
        parts = urlsplit(item)
        has_place = parts.netloc if parts.scheme == "s3" else parts.path.strip("/")
        if parts.scheme not in _SCHEMES or not has_place:
            raise BadInput(
                f"{VARIABLE} has {item!r}: write s3://bucket/prefix/ or file:///folder/", variable=VARIABLE
            )
    return allowed


def forbid_files() -> None:
    """Let this process and those that it starts read no blobs from the disk: others name the addresses."""
    left = [item for item in list_allowed() if not item.startswith("file:")]
    if VARIABLE in os.environ:
        os.environ[VARIABLE] = ",".join(left)


def _check_address(address: str) -> None:
    if len(address.encode()) > _MAX_ADDRESS_BYTES:
        raise ValueError(f"has an address of more than {_MAX_ADDRESS_BYTES} bytes")
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"is {address[:40]!r}: write base64:… or an address, s3://… or file:///…")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("names an external source with credentials, a query or a fragment: leave them out")
    if posixpath.normpath(parts.path) != parts.path:
        raise ValueError(
            f"names the external source {address[:200]!r}: write its path without dots and double slashes"
        )


def _is_inside(address: str, folder: str) -> bool:
    if not address.startswith("file:"):
        return address.startswith(folder)
    # A link in the folder may lead out of it.
    real = os.path.realpath(local_path(address))
    return folder.startswith("file:") and real.startswith(os.path.realpath(local_path(folder)) + os.sep)
