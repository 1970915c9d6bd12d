"""Removing everything below a folder: what makes it readable goes first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from omnigraph.base.errors import ForeignLinks
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.storage.files.delete_files import each
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.errors import translate

_OBJECTS_PER_DELETE = 1_000
_MANIFEST = "__manifest"


def remove_root(store: ObjectStore, prefix: str) -> None:
    """Remove all objects under a prefix, and on a local disk the folder itself.

    The control files go first: nobody takes what is half gone for a graph. Run again, it goes on.
    """
    if store.is_local:
        folder = f"{store.root_uri}/{prefix}"
        if os.path.islink(folder):
            raise ForeignLinks(f"{folder} is a symbolic link: take it away yourself", links=[folder])
    _discard_all(store, f"{prefix}/{_MANIFEST}")
    hit(Failpoint.CLUSTER_DELETE_AFTER_MANIFEST)
    _discard_all(store, prefix)
    if store.is_local:
        try:
            shutil.rmtree(f"{store.root_uri}/{prefix}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise translate(error, store.root_uri, prefix, writing=True) from error


def _discard_all(store: ObjectStore, prefix: str) -> None:
    for paths in _batches(store, prefix):
        each(store, store.discard, paths)


def _batches(store: ObjectStore, prefix: str) -> Iterator[list[str]]:
    """Yield paths in batches, each listed anew after the one before is gone."""
    while True:
        found: list[str] = []
        for info in store.list(prefix):
            found.append(info.path)
            if len(found) == _OBJECTS_PER_DELETE:
                break
        if not found:
            return
        yield found
