"""Compiled queries by text and schema: a query that is run many times is compiled once."""

from __future__ import annotations

import threading
from collections import OrderedDict

from omnigraph.base.errors import BadInput, TypeCheckError
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import QueryKind, compile_query
from omnigraph.compiler.ir.queries import CompiledQuery, ReadQuery
from omnigraph.graph.schema_apply.names import renamed_catalog
from omnigraph.graph.snapshot import Snapshot

_CAPACITY = 512
_Key = tuple[int, str, str | None, QueryKind]

_kept: OrderedDict[_Key, tuple[Catalog, CompiledQuery]] = OrderedDict()
_lock = threading.Lock()


def compiled_at(snapshot: Snapshot, text: str, name: str | None) -> ReadQuery:
    """Return the compiled form of a read of a snapshot; what was renamed since is found by either name."""
    try:
        query = compiled(text, snapshot.catalog, name, "read")
    except TypeCheckError:
        renamed = renamed_catalog(snapshot)
        if renamed is snapshot.catalog:
            raise
        query = compiled(text, renamed, name, "read")
    assert isinstance(query, ReadQuery)
    return query


def compiled(text: str, catalog: Catalog, name: str | None, kind: QueryKind) -> CompiledQuery:
    """Return the compiled form of one query of a text; mistakes are not remembered."""
    if not isinstance(text, str):
        raise BadInput(f"a query is a text, found {type(text).__name__}")
    if name is not None and not isinstance(name, str):
        raise BadInput(f"the name of a query is a text, found {type(name).__name__}")
    key = (id(catalog), text, name, kind)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found[1]
    query = compile_query(text, catalog, name, kind=kind)
    with _lock:
        # The catalog is kept beside its query, so that its id stays its own.
        _kept[key] = (catalog, query)
        while len(_kept) > _CAPACITY:
            _kept.popitem(last=False)
    return query
