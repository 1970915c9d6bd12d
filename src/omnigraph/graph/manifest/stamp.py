"""The stamp: the object whose existence makes a root a graph. It is written last by init."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.base.errors import AlreadyExists, NotAGraph, NotFound
from omnigraph.base.plain import json_name
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over


@dataclass(frozen=True, slots=True)
class Stamp:
    """A graph's identity, its storage format, and the incarnation of its main branch."""

    graph_id: str = field(metadata=json_name("graph"))
    main: str
    created_at: int
    format: int = stored_format.CURRENT

    @property
    def main_ref(self) -> BranchRef:
        """The ref of the main branch, which has no object of its own: it can be neither made nor deleted."""
        return BranchRef(MAIN, self.main, None, self.created_at)

    def encode(self) -> bytes:
        """Return the stamp as stored."""
        return stored_format.encode_value(self, layout.STAMP)


@dataclass(frozen=True, slots=True)
class StoredStamp:
    """A stamp and the tag to replace it by."""

    stamp: Stamp
    etag: str


def read_stamp(store: ObjectStore) -> StoredStamp:
    """Return the graph's stamp, within the bounds of this release."""
    try:
        found = store.get_versioned(layout.STAMP)
    except NotFound:
        raise NotAGraph(
            f"there is no graph at {store.root_uri}: check the address, or create one with `omnigraph init`",
            uri=store.root_uri,
        ) from None
    stamp = stored_format.decode_value(found.data, layout.STAMP, f"the stamp of {store.root_uri},", Stamp)
    return StoredStamp(stamp, found.etag)


def write_stamp(store: ObjectStore, stamp: Stamp) -> None:
    """Make the root a graph, unless it is one already."""
    if put_over(store, layout.STAMP, stamp.encode(), None) is None:
        raise AlreadyExists(
            f"there is a graph at {store.root_uri} already: open it, or choose another address",
            uri=store.root_uri,
        )
