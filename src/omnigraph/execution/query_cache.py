"""Compiled queries by text and schema: a query that runs many times is compiled once."""

from __future__ import annotations

from omnigraph.base.errors import BadInput, TypeCheckError
from omnigraph.base.lru import Lru
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import QueryKind, compile_query
from omnigraph.compiler.ir.queries import CompiledQuery, ReadQuery
from omnigraph.graph.schema_apply.names import rename_catalog
from omnigraph.graph.snapshot import Snapshot

_Key = tuple[int, str, str | None, QueryKind]

_kept: Lru[_Key, tuple[Catalog, CompiledQuery]] = Lru(512)


def compile_read_at(snapshot: Snapshot, text: str, name: str | None) -> ReadQuery:
    """Compile a read for a snapshot; what was renamed since is found by its old or its new name."""
    try:
        query = compile_cached(text, snapshot.catalog, name, "read")
    except TypeCheckError:
        renamed = rename_catalog(snapshot)
        if renamed is snapshot.catalog:
            raise
        query = compile_cached(text, renamed, name, "read")
    assert isinstance(query, ReadQuery)
    return query


def compile_cached(text: str, catalog: Catalog, name: str | None, kind: QueryKind) -> CompiledQuery:
    """Compile one query of a text, or return it from the cache; errors are not cached."""
    if not isinstance(text, str):
        raise BadInput(f"a query must be a string, found {type(text).__name__}")
    if name is not None and not isinstance(name, str):
        raise BadInput(f"the name of a query must be a string, found {type(name).__name__}")
    key = (id(catalog), text, name, kind)
    found = _kept.get(key)
    if found is None:
        # Holding the catalog keeps its id() from being reused.
        found = (catalog, compile_query(text, catalog, name, kind=kind))
        _kept.put(key, found)
    return found[1]
