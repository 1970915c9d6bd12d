"""A checked query to its executable form."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import CompiledQuery
from omnigraph.compiler.lower.read import lower_read
from omnigraph.compiler.lower.write import lower_write
from omnigraph.compiler.typecheck.typed import TypedQuery, TypedWrite


def lower_query(typed: TypedQuery, catalog: Catalog) -> CompiledQuery:
    """Return the executable form of a checked query."""
    if isinstance(typed, TypedWrite):
        return lower_write(typed, catalog)
    return lower_read(typed, catalog)
