"""Whether the stored queries of a branch fit another schema of it."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored.queries import BrokenQuery, QuerySet, broken_error


def find_broken(queries: QuerySet, before: Catalog, after: Catalog) -> list[BrokenQuery]:
    """Return the queries that fit one schema and not another."""
    return [item for item in queries.find_faults(after) if queries[item.name].find_fault(before) is None]


def refuse_broken(queries: QuerySet, before: Catalog, after: Catalog) -> None:
    """Refuse another schema that breaks queries, each named with its place."""
    if broken := find_broken(queries, before, after):
        what = "the schema would break stored queries: change them first, or allow_broken_queries"
        raise broken_error(what, broken)
