"""Hard drops: the old versions of dropped tables and columns are removed right after the publish."""

from __future__ import annotations

import logging

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.migration.plan import MigrationPlan
from omnigraph.compiler.catalog.migration.steps import DropProperty, DropType
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.maintenance.cleanup.cleanup import CleanupRequest, cleanup
from omnigraph.graph.maintenance.cleanup.retention import Limits
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.opening import Core

_log = logging.getLogger("omnigraph")


def reclaim_dropped(core: Core, record: CommitRecord, before: Catalog, plan: MigrationPlan) -> bool:
    """Remove what a published schema change has dropped for good, as far as nothing else stands on it.

    Heads of other branches, tags, forks and pending plans keep their versions, until a cleanup finds that
    they do not need them any more. The change itself stands whatever happens here: a failure, which is False,
    leaves a soft drop.
    """
    identities = find_dropped_for_good(before, plan)
    if not identities:
        return True
    dropped = {record.incarnation: dict.fromkeys(identities, record.seq)}
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


def find_dropped_for_good(before: Catalog, plan: MigrationPlan) -> list[str]:
    """Return the identities of tables of which versions, or columns of versions, are dropped hard."""
    keys = {
        f"{step.type_kind}:{step.name if isinstance(step, DropType) else step.type_name}"
        for step in plan.steps
        if isinstance(step, DropType | DropProperty) and step.mode == "hard"
    }
    names = {table.table_key: table_identity(table) for table in before.tables}
    after = {table_identity(table): table.table_key for table in plan.target.tables}
    # A property's step may call its type by the new name.
    return sorted(
        identity for key, identity in names.items() if key in keys or after.get(identity, "") in keys
    )
