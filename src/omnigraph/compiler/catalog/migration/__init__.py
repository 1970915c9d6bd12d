"""Schema migration: an accepted catalog and a desired schema give ordered steps; nothing is executed."""

from omnigraph.compiler.catalog.migration.plan import MigrationPlan, plan_migration

__all__ = ["MigrationPlan", "plan_migration"]
