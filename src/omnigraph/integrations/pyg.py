"""Graphs for PyTorch Geometric: a commit as arrays or `HeteroData`; what a model has found, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.errors import BadInput
from omnigraph.execution.optional import import_optional
from omnigraph.integrations.records import EdgeRecord, NodeRecord, patch_records, read_content

__all__ = ["GraphArrays", "patch_records", "to_arrays", "to_hetero_data"]

Relation = tuple[str, str, str]
"""The type of an edge between the types of its nodes."""


@dataclass(frozen=True, slots=True)
class GraphArrays:
    """A commit as arrays: nodes are numbered by type, edges are pairs of numbers."""

    ids: Mapping[str, tuple[str, ...]]
    """The ids of the nodes of each type; their places are the numbers."""
    features: Mapping[str, NDArray[np.float32]]
    """One row for each node of the types that features were asked for."""
    edge_index: Mapping[Relation, NDArray[np.int64]]
    """Two rows for each relation: numbers of the nodes where its edges begin, and where they end."""


def to_arrays(
    graph: Any,
    *,
    features: Mapping[str, Sequence[str]] | None = None,
    branch: str | None = None,
    snapshot: Any = None,
    types: Sequence[str] | None = None,
) -> GraphArrays:
    """Return a commit as arrays; `features` names the numbers and vectors that become rows of each node type.

    NULL is 0 in features.
    """
    content = read_content(graph, branch, snapshot, types)
    nodes: dict[str, list[NodeRecord]] = {}
    for node in content.nodes:
        nodes.setdefault(node.name[0], []).append(node)
    edges: dict[Relation, list[EdgeRecord]] = {}
    for edge in content.edges:
        edges.setdefault((edge.start[0], edge.type, edge.end[0]), []).append(edge)
    places = {node.name: place for each in nodes.values() for place, node in enumerate(each)}
    return GraphArrays(
        {type: tuple(node.name[1] for node in each) for type, each in nodes.items()},
        {type: _features(type, nodes.get(type, []), names) for type, names in (features or {}).items()},
        {
            relation: np.array(
                [[places[edge.start] for edge in each], [places[edge.end] for edge in each]], np.int64
            )
            for relation, each in edges.items()
        },
    )


def to_hetero_data(
    graph: Any,
    *,
    features: Mapping[str, Sequence[str]] | None = None,
    branch: str | None = None,
    snapshot: Any = None,
    types: Sequence[str] | None = None,
) -> Any:
    """Return a commit as `HeteroData`: `x`, `num_nodes` and `ids` by type, `edge_index` by relation."""
    torch = import_optional("torch", "a HeteroData")
    data = import_optional("torch_geometric.data", "a HeteroData")
    arrays = to_arrays(graph, features=features, branch=branch, snapshot=snapshot, types=types)
    made = data.HeteroData()
    for type, ids in arrays.ids.items():
        made[type].num_nodes = len(ids)
        made[type].ids = list(ids)
    for type, rows in arrays.features.items():
        made[type].x = torch.from_numpy(rows)
    for relation, pairs in arrays.edge_index.items():
        made[relation].edge_index = torch.from_numpy(pairs)
    return made


def _features(type: str, nodes: Sequence[NodeRecord], names: Sequence[str]) -> NDArray[np.float32]:
    rows = [np.concatenate([_numbers(type, name, node) for name in names]) for node in nodes]
    if len({len(row) for row in rows}) > 1:
        raise BadInput(f"features of {type} have different lengths: a vector among them is NULL in some rows")
    return np.stack(rows) if rows else np.zeros((0, len(names)), np.float32)


def _numbers(type: str, name: str, node: NodeRecord) -> NDArray[np.float32]:
    if name not in node.properties:
        raise BadInput(f"{type} has no property {name!r}")
    value = node.properties[name]
    if isinstance(value, str):
        raise BadInput(f"{type}.{name} is a text and cannot be a feature; `@embed` makes vectors of texts")
    return np.atleast_1d(np.asarray(0 if value is None else value, np.float32))
