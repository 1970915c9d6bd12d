"""Format migrations: registered steps that lead from one format to the next, work first, stamp last.

Format 3 is the oldest that opens and the current one, so no step is registered. A step takes the
store of a graph whose stamp carries the format it starts from. It must be safe to run twice and beside
another runner: the stamp moves by compare-and-swap, and whoever loses reads it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from omnigraph.base.errors import Contention, PreconditionFailed
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.stamp import StoredStamp, read_stamp
from omnigraph.storage.objects import ObjectStore

Step = Callable[[ObjectStore], None]

STEPS: Mapping[int, Step] = {}
"""By the format that a step starts from; the lowest key is the oldest format that opens."""

_MAX_LOST_SWAPS = 5


def migrate(store: ObjectStore, found: StoredStamp) -> StoredStamp:
    """Bring a graph to the current format and return its stamp."""
    for _ in range(_MAX_LOST_SWAPS + stored_format.CURRENT):
        if found.stamp.format >= stored_format.CURRENT:
            return found
        STEPS[found.stamp.format](store)
        hit(Failpoint.MIGRATE_BEFORE_STAMP)
        found = _advance(store, found)
    raise Contention("others keep changing this graph's format stamp: try again", uri=store.root_uri)


def _advance(store: ObjectStore, found: StoredStamp) -> StoredStamp:
    moved = replace(found.stamp, format=found.stamp.format + 1)
    try:
        return StoredStamp(moved, store.replace(layout.STAMP, moved.encode(), found.etag))
    except PreconditionFailed:
        return read_stamp(store)
