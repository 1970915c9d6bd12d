"""A commit of maintenance that needs no schema: join the small fragments of every table."""

from __future__ import annotations

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.write.compact_on_write import TIERS, target_rows
from omnigraph.graph.write.write_state import WriteBase

_LARGE_BYTES = 64 * 2**20
"""Files of this size are as large as a bulk load makes them: joining them would be work for nothing."""


class Compaction:
    """Work for `commit`: content stays, files are joined; on a newer state it is simply done again."""

    operation = "optimize"
    commit_class = CommitClass.MAINTENANCE
    repeatable = True

    def stage(self, base: WriteBase) -> None:
        """Write nothing ahead: what to join depends on the state."""

    def apply(self, base: WriteBase) -> None:
        """Join the small fragments of every table that has more than one."""
        for entry in base.state.head.by_key().values():
            if entry.fragments > 1:
                table = base.table(entry.key)
                if target_rows(table.fragment_rows(_LARGE_BYTES), limit=1):
                    table.compact(TIERS[-1])
                    hit(Failpoint.MAINTENANCE_AFTER_COMPACT)
