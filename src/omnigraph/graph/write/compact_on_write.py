"""Keeping tables in few fragments as part of ordinary writes, so that a commit's cost is flat in history."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from omnigraph.base.errors import OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.write.write_state import WriteBase

_log = logging.getLogger("omnigraph")

TIERS = (1_024, 32_768, 1_048_576)
"""A fragment belongs to the first tier that it is smaller than; the largest ones are left alone."""


_SMALL_BYTES = 8 * 2**20
"""What a write joins in passing has less: a bulk load must not write its own files twice."""


def tidy(base: WriteBase, limit: int) -> None:
    """Join the small fragments of every table that this write has changed and that has too many.

    The joined version is part of the same commit. When joining fails, the write goes on without it:
    physical work never fails a logical operation.
    """
    for key in base.list_written():
        table = base.table(key)
        if table.fragments <= limit:
            continue
        target = target_rows(table.fragment_rows(_SMALL_BYTES), limit)
        if target is None:
            continue
        before = base.savepoint(key)
        try:
            table.compact(target)
            hit(Failpoint.MAINTENANCE_AFTER_COMPACT)
        except (OmniError, OSError) as error:
            _log.warning("joining the fragments of %s failed and was left for later: %s", key, error)
            base.undo(key, before)


def target_rows(fragment_rows: Sequence[int], limit: int) -> int | None:
    """Return up to which size fragments should be joined, or None when no tier has more than `limit`.

    Each tier is 32 times the one before it. A row is rewritten at every joining while its fragment is in the
    lowest tier, some 64 times at most and cheaply, and about twice in each tier after that.
    """
    counts = [0] * len(TIERS)
    for rows in fragment_rows:
        for tier, size in enumerate(TIERS):
            if rows < size:
                counts[tier] += 1
                break
    crowded = [size for size, count in zip(TIERS, counts, strict=True) if count > limit]
    return crowded[-1] if crowded else None
