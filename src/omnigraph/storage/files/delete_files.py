"""Removing many files at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.storage.objects import ObjectStore

_THREADS = 16
_OWN_FOLDERS = ("_pins", "_indices", "data")
"""Folders whose own folders belong to one version or one file, so that nobody puts anything there again."""

Given = TypeVar("Given")
Result = TypeVar("Result")


def remove_files(store: ObjectStore, paths: Sequence[str]) -> None:
    """Remove files in the given order as far as it matters: what comes first is gone before what comes last.

    Manifests go last, so that a sweep that was cut off can be understood, and gone on with, from them.
    """
    data = [path for path in paths if not _is_manifest(path)]
    manifests = [path for path in paths if _is_manifest(path)]

    def remove(path: str) -> None:
        hit(Failpoint.CLEANUP_BEFORE_DELETE)
        store.discard(path)

    for part in (data, manifests):
        each(store, remove, part)
    if store.is_local:
        _remove_empty_folders(store.root_uri, paths)


def each(store: ObjectStore, act: Callable[[Given], Result], given: Iterable[Given]) -> list[Result]:
    """Do something with each item, over a network several at a time."""
    items = list(given)
    if store.is_local or len(items) < 2:
        return [act(item) for item in items]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-sweep") as threads:
        return list(threads.map(act, items))


def _is_manifest(path: str) -> bool:
    return "/_pins/" in path


def _remove_empty_folders(root: str, paths: Iterable[str]) -> None:
    folders = {path.rsplit("/", 1)[0] for path in paths}
    for folder in folders:
        parts = folder.split("/")
        if len(parts) == 4 and parts[2] in _OWN_FOLDERS:
            with contextlib.suppress(OSError):  # not empty: part of it is kept
                os.rmdir(f"{root}/{folder}")
