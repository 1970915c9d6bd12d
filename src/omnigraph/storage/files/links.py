"""Symbolic links among the files of a local root, which lead to files that are not of this root."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from omnigraph.storage.objects import ObjectStore


def links_below(store: ObjectStore, belongs: Callable[[str], bool]) -> list[str]:
    """Return the paths of links below the names of the root that belong to what is looked at."""
    return list(_links(store.root_uri, "", belongs)) if store.is_local else []


def _links(root: str, folder: str, belongs: Callable[[str], bool]) -> Iterator[str]:
    try:
        with os.scandir(f"{root}/{folder}") as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if not folder and not belongs(entry.name):
            continue
        if entry.is_symlink():
            yield path
        elif entry.is_dir(follow_symlinks=False):
            yield from _links(root, path, belongs)
