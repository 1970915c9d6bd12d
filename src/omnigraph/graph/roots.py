"""What may lie at the root of a graph: its own files, and nothing that a cleanup could take for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from omnigraph.base.errors import AccessDenied, AlreadyExists, BadInput, ForeignLinks, NotFound
from omnigraph.graph.manifest import layout
from omnigraph.storage.files.links import links_below
from omnigraph.storage.files.outputs import local_path
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.objects.paths import RESERVED

_MAX_NAMED_FILES = 3
# What an init that was killed can have left: a schema, the first record of a chain, and empty tables.
_UNFINISHED = re.compile(
    rf"{layout.SCHEMAS}/[^/]+|{layout.CHAINS}/[^/]+/0+/0*1\.json|{layout.HINTS}/[^/]+|"
    r"(nodes|edges)/[0-9a-f]{16}-[0-9a-f]{16}/(_pins|_transactions|_versions|data)/.+"
)


def refuse_others_files(store: ObjectStore) -> None:
    """Refuse to make a graph among files that are not of an unfinished init, which can be run again."""
    foreign = (info.path for info in store.list() if not _UNFINISHED.fullmatch(info.path))
    found = list(islice(foreign, _MAX_NAMED_FILES + 1)) or links_below(store, lambda name: True)
    if found:
        shown = ", ".join(found[:_MAX_NAMED_FILES]) + (" and more" if len(found) > _MAX_NAMED_FILES else "")
        raise AlreadyExists(
            f"{store.root_uri} is not empty (it holds {shown}): choose another address, or make the graph "
            "among these files with `force`; a cleanup removes whatever lies in folders of the graph",
            uri=store.root_uri,
            found=found[:_MAX_NAMED_FILES],
        )


def refuse_remains(store: ObjectStore) -> None:
    """Refuse to make a graph over a restore that was cut off, or the commits of one whose stamp is lost."""
    if store.exists(layout.RESTORE_CLAIM):
        raise AlreadyExists(
            f"{store.root_uri} holds a restore that was cut off: run `omnigraph restore` again, which goes "
            "on with it, or remove the folder",
            uri=store.root_uri,
        )
    if holds_commits(store):
        raise AlreadyExists(
            f"{store.root_uri} holds the commits of a graph whose stamp is lost: choose another address, or "
            f"put {layout.STAMP} back from a backup",
            uri=store.root_uri,
        )


def holds_commits(store: ObjectStore) -> bool:
    """Return whether a graph was here: an init that was killed leaves no more than the first record.

    A restore that was cut off has left its claim, and goes on when it is run again.
    """
    if store.exists(layout.RESTORE_CLAIM):
        return False
    records = (layout.place_of_record(info.path) for info in layout.own(store.list(layout.CHAINS)))
    return any(number > 1 for _, number in records)


def refuse_links(store: ObjectStore) -> None:
    """Refuse to remove anything from a graph with symbolic links among its files."""
    found = links_in(store)
    if found:
        named = ", ".join(found[:_MAX_NAMED_FILES])
        raise ForeignLinks(
            f"{store.root_uri} has symbolic links among its files ({named}): nothing is removed; put the "
            "files themselves there, or take the links away",
            uri=store.root_uri,
            links=found[:_MAX_NAMED_FILES],
        )


def links_in(store: ObjectStore) -> list[str]:
    """Return the symbolic links among the files of a graph."""
    return links_below(store, lambda name: name == RESERVED or layout.is_reserved(name))


def refuse_target_in_graph(target: str | os.PathLike[str], options: Mapping[str, str]) -> None:
    """Refuse to write users' files into the folder of a graph, of which a cleanup would remove them."""
    text = os.fspath(target)
    if isinstance(text, str) and text.startswith("s3://"):
        around = next((outer for outer in _prefixes(text) if _is_graph(outer, options)), None)
    else:
        around = next(
            (outer for outer in _folders(target) if os.path.lexists(f"{outer}/{layout.STAMP}")), None
        )
    if around is not None:
        raise BadInput(f"{text} lies inside the graph at {around}: choose another target", path=text)


def _folders(target: str | os.PathLike[str]) -> Iterator[str]:
    folder = os.path.realpath(local_path(target))
    while True:
        yield folder
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def _prefixes(address: str) -> Iterator[str]:
    bucket, *parts = address.removeprefix("s3://").strip("/").split("/")
    for depth in range(len(parts) + 1):
        yield "/".join([f"s3://{bucket}", *parts[:depth]])


def _is_graph(address: str, options: Mapping[str, str]) -> bool:
    try:
        open_store(address, options).get(layout.STAMP)
    except (NotFound, AccessDenied):  # what may not be read is not known to be a graph
        return False
    return True
