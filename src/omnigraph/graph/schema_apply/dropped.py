"""What a schema change drops for good."""

from __future__ import annotations

from omnigraph.compiler.catalog.migration.plan import MigrationPlan
from omnigraph.compiler.catalog.migration.steps import DropProperty, DropType
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.layout import table_identity


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
