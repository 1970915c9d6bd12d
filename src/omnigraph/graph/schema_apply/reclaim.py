"""Hard drops: the old versions of dropped tables and columns are removed right after the publish."""

from __future__ import annotations

import logging

from omnigraph.base.errors import OmniError
from omnigraph.graph.maintenance.cleanup.cleanup import CleanupRequest, cleanup
from omnigraph.graph.maintenance.cleanup.retention import Limits
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.opening import Core

_log = logging.getLogger("omnigraph")


def reclaim_dropped(core: Core, record: CommitRecord) -> bool:
    """Remove what a published schema change has dropped for good, as far as nothing else stands on it.

    Heads of other branches, tags, forks and pending plans keep their versions, until a cleanup finds that
    they do not need them any more. The change itself stands whatever happens here: after a failure, which is
    False, or a crash, the next cleanup does it, because the commit says so.
    """
    if not record.reclaims:
        return True
    dropped = {record.incarnation: dict.fromkeys(record.reclaims, record.seq)}
    message = f"drops of commit {record.commit}"
    try:
        cleanup(
            core.truth,
            core.settings,
            CleanupRequest(Limits(deleted=True), record.actor, message, dropped_tables=dropped),
        )
    except (OmniError, OSError) as error:
        _log.warning("what commit %s has dropped is left for the next cleanup: %s", record.commit, error)
        return False
    return True
