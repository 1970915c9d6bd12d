"""The graphs of a cluster, found where it is stored: `graphs/<id>.omni` below its root."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.base.errors import BadInput, NotFound
from omnigraph.base.plain import read_json
from omnigraph.wire.graph_names import check_graph_name

if TYPE_CHECKING:
    from omnigraph.storage.objects import ObjectStore

STATE = "__cluster/state.json"
_CONFIG = "cluster.yaml"
_GRAPH = "graph."


def root_of_graph(cluster: str, graph: str) -> str:
    """Return where a graph of a cluster is stored."""
    check_graph_name(graph)
    return f"{find_root(cluster).rstrip('/')}/graphs/{graph}.omni"


def list_cluster_graphs(cluster: str) -> list[str]:
    """Return the names of the graphs that were applied to a cluster, sorted."""
    root = find_root(cluster)
    try:
        state = read_json(_open(root).get(STATE))
        resources = state["applied_revision"]["resources"]
    except NotFound:
        raise NotFound(f"there is no cluster at {root}: it has no {STATE}", uri=root) from None
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{STATE} of the cluster at {root} cannot be read", uri=root) from None
    return sorted(name.removeprefix(_GRAPH) for name in resources if name.startswith(_GRAPH))


def find_root(cluster: str) -> str:
    """Return where a cluster is stored: the folder of `cluster.yaml` may name another place."""
    from omnigraph.cli.config.document import read_document

    if "://" in cluster:
        return cluster
    document = read_document(Path(cluster) / _CONFIG, lambda text: None)
    storage = document.members().get("storage") if document is not None else None
    if storage is None:
        return cluster
    found = storage.text()
    return found if "://" in found else str(Path(cluster) / found)


def _open(root: str) -> ObjectStore:
    from omnigraph.storage.objects import open_store

    return open_store(root)
