"""Compiled queries by text and schema: a query that is run many times is compiled once."""

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
    """Return the compiled form of a read of a snapshot; what was renamed since is found by either name."""
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
    """Return the compiled form of one query of a text; mistakes are not remembered."""
    if not isinstance(text, str):
        raise BadInput(f"a query is a text, found {type(text).__name__}")
    if name is not None and not isinstance(name, str):
        raise BadInput(f"the name of a query is a text, found {type(name).__name__}")
    key = (id(catalog), text, name, kind)
    found = _kept.get(key)
    if found is None:
        # The catalog is kept beside its query, so that its id stays its own.
        found = (catalog, compile_query(text, catalog, name, kind=kind))
        _kept.put(key, found)
    return found[1]
