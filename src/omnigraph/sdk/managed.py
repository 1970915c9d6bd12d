"""Graphs that a cluster manages: what its files declare is changed there, and in no other way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from omnigraph.base.errors import ClusterManaged, NotFound
from omnigraph.graph.handle import Graph
from omnigraph.storage.objects import ObjectStore, open_store

GRAPHS = "graphs"
GRAPH_ENDING = ".omni"
LEDGER = "__cluster/state.json"
"""Where a cluster has its graphs and says what was applied, below its root."""

_applying: ContextVar[bool] = ContextVar("omnigraph_applying", default=False)


@contextmanager
def apply_for_cluster() -> Iterator[None]:
    """Let what is done in the block be done by the cluster itself."""
    token = _applying.set(True)
    try:
        yield
    finally:
        _applying.reset(token)


def refuse_managed_root(store: ObjectStore, options: Mapping[str, str] | None) -> None:
    """Refuse to make a graph where a cluster makes its own."""
    _refuse(store, options, "a graph is made there by `omnigraph cluster apply`")


def refuse_managed_graph(graph: Graph, what: str) -> None:
    """Refuse to change what a cluster declares of a graph."""
    if graph.declared_queries is not None and not _applying.get():
        raise _managed_error(
            graph.uri, "its cluster", f"change {what} in the cluster's files, and apply them"
        )
    store = graph.internals.core.truth.store
    _refuse(store, graph.storage_options, f"change {what} in the cluster's files, and apply them")


def find_managing_cluster(uri: str, options: Mapping[str, str] | None = None) -> str | None:
    """Return the root of the cluster that manages the graph at an address, if one does."""
    parts = uri.rstrip("/").split("/")
    if len(parts) < 3 or parts[-2] != GRAPHS or not parts[-1].endswith(GRAPH_ENDING):
        return None
    root = "/".join(parts[:-2])
    try:
        is_there = open_store(root, options).exists(LEDGER)
    except NotFound:
        return None
    return root if is_there else None


def _refuse(store: ObjectStore, options: Mapping[str, str] | None, instead: str) -> None:
    if _applying.get():
        return
    root = find_managing_cluster(store.root_uri, options)
    if root is not None:
        raise _managed_error(store.root_uri, f"the cluster at {root}", instead)


def _managed_error(uri: str, owner: str, instead: str) -> ClusterManaged:
    return ClusterManaged(f"{uri} belongs to {owner}: {instead}", uri=uri)
