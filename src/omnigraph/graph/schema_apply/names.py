"""What the newest schema of a branch calls the types and properties of an older commit."""

from __future__ import annotations

from omnigraph.base.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.base.lru import Lru
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.catalog.renamed import differ_in_names, with_names_of
from omnigraph.graph.manifest.merge_base import merge_base
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.snapshot import Snapshot

_known: Lru[tuple[str, str, str], Catalog] = Lru(64)
"""By graph, commit, and the chain and schema of the head that was looked at."""


def rename_catalog(snapshot: Snapshot) -> Catalog:
    """Return a snapshot's catalog, which also answers to the names at the head of its branch.

    A name that the snapshot's own schema has means what it meant there. It is the snapshot's own catalog when
    nothing was renamed.
    """
    own = snapshot.catalog
    try:
        head = snapshot.core.truth.state(snapshot.branch).head
    except NotFound:
        return own
    if same_schema(head.schema, snapshot.record.schema):
        return own
    newer = snapshot.core.schemas.get(head.schema).catalog
    if not differ_in_names(own, newer):
        return own
    key = (snapshot.core.truth.stamp.graph_id, snapshot.view_id, f"{head.incarnation}:{head.schema}")
    found = _known.get(key)
    if found is None:
        # The first answer stays: compiled queries know a catalog by its place in memory.
        found = _known.setdefault(key, with_names_of(own, newer, _last_common(snapshot, head)))
    return found


def find_types_named(snapshot: Snapshot, name: str) -> tuple[TableType, ...]:
    """Return the types of a name or table key, as it was at this commit or else as it is now."""
    return snapshot.catalog.find_types(name) or rename_catalog(snapshot).find_types(name)


def _last_common(snapshot: Snapshot, head: CommitRecord) -> int:
    """Return the last number that was given out before a commit and a head parted."""
    try:
        base = merge_base(snapshot.core.truth.chains, snapshot.record, head)
    except HistoricalVersionReclaimed:
        return 0
    return snapshot.core.schemas.get(base.schema).catalog.last_id
