"""From a URI to a store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from omnigraph.base.errors import BadInput
from omnigraph.base.settings import Settings
from omnigraph.storage.objects.local import LocalStore
from omnigraph.storage.objects.paths import check_path
from omnigraph.storage.objects.s3 import open_memory, open_s3
from omnigraph.storage.objects.store import ObjectStore

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_URL_MARKS = re.compile(r"[#?]|%[0-9A-Fa-f]{2}")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def open_store(uri: str, options: Mapping[str, str] | None = None) -> ObjectStore:
    """Return the store of a folder, of `file://`, of `memory://name` or of `s3://bucket/prefix`.

    Nothing is read or written yet. Relative paths are made absolute and symbolic links are resolved, so one
    folder has one `root_uri`. On local disk the option `fsync` (`true` or `false`) says whether a write is
    flushed to the disk before it is acknowledged: off, it survives the death of the process; on, also a
    power cut (`docs/durability.md`). Without it the setting `fsync` decides. For S3 the options are those of
    `docs/object-storage.md`.
    """
    given = dict(options or {})
    _refuse_surrogates(uri)
    match = _SCHEME.match(uri)
    if match is None:
        return _open_local(uri, uri, given)
    scheme, rest = match[1].lower(), uri[match.end() :].rstrip("/")
    if scheme == "file":
        return _open_local(_path_of(uri), uri, given)
    if scheme == "memory":
        _refuse_others(uri, given, ())
        return open_memory(_place(uri, rest, "a name"))
    if scheme == "s3":
        return open_s3(_prefix(uri, rest), given)
    raise BadInput(f"{uri!r} has the unknown scheme {scheme!r}: use a path, file:// or s3://", uri=uri)


def _open_local(path: str, uri: str, options: dict[str, str]) -> LocalStore:
    _refuse_others(uri, options, ("fsync",))
    if not path or "\0" in path:
        raise BadInput(f"{uri!r} is not a path of a folder", uri=uri)
    settings = Settings.from_environment()
    text = str(options.get("fsync", settings.fsync)).lower()
    if text not in _TRUTH:
        raise BadInput(f"the storage option fsync is {text!r}: use 'true' or 'false'", option="fsync")
    return LocalStore(os.path.realpath(path), fsync=_TRUTH[text], patience=settings.swap_seconds)


def _refuse_surrogates(uri: str) -> None:
    """Refuse what no storage can be asked for; it stands for bytes that are not text, too."""
    try:
        uri.encode()
    except UnicodeEncodeError:
        raise BadInput(
            f"{uri!r} holds half of a surrogate pair, which is not a character: use another address", uri=uri
        ) from None


def _path_of(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise BadInput(f"{uri!r} is not a local folder: write file:///absolute/path", uri=uri)
    return unquote(uri.partition("://")[2].removeprefix(parts.netloc))


def _place(uri: str, place: str, what: str) -> str:
    if not place or place.startswith("/"):
        raise BadInput(f"{uri!r} does not name {what}", uri=uri)
    check_path(place)
    return place


def _prefix(uri: str, rest: str) -> str:
    place = _place(uri, rest, "a bucket")
    if "@" in place.partition("/")[0]:
        raise BadInput(
            f"{uri!r} has a user or a password: give credentials as storage options or by the environment",
            uri=uri,
        )
    if found := _URL_MARKS.search(place):
        # Lance reads the address of a table as a URL, in which these do not stand for themselves.
        raise BadInput(
            f"{uri!r} contains {found[0]!r}, which no S3 prefix of ours may: leave it out", uri=uri
        )
    return place


def _refuse_others(uri: str, options: Mapping[str, str], known: tuple[str, ...]) -> None:
    unknown = sorted(set(options) - set(known))
    if unknown:
        allowed = ", ".join(known) or "none"
        raise BadInput(
            f"{uri!r} has the unknown storage options {', '.join(unknown)}: it takes {allowed}", uri=uri
        )
