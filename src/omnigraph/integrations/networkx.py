"""Graphs of networkx: a commit as a `MultiDiGraph`, and any graph of theirs as records of a load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from omnigraph.execution.optional import import_optional
from omnigraph.integrations.records import edge_record, node_record, read_content

__all__ = ["from_networkx", "to_networkx"]


def to_networkx(
    graph: Any, *, branch: str | None = None, snapshot: Any = None, types: Sequence[str] | None = None
) -> Any:
    """Return a commit as a `networkx.MultiDiGraph`.

    A node is called `(type, id)`, an edge has its id as its key and its type as the attribute `type`;
    properties are attributes, in the form of a load. Integers stay integers, beside NULL too.
    """
    networkx = import_optional("networkx", "a graph of networkx")
    content = read_content(graph, branch, snapshot, types)
    made = networkx.MultiDiGraph()
    made.add_nodes_from((node.name, dict(node.properties)) for node in content.nodes)
    made.add_edges_from(
        (edge.start, edge.end, edge.id, {"type": edge.type, **edge.properties}) for edge in content.edges
    )
    return made


def from_networkx(
    graph: Any, *, node_type: str | None = None, key: str | None = None, edge_type: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the nodes and edges of a graph of networkx as records, for `load(…, mode="merge")`.

    A graph that `to_networkx` has made needs nothing more. Nodes of another have an attribute `type`, or are
    of `node_type`; their name is the value of the property `key`. Edges have an attribute `type`, or are of
    `edge_type`.
    """
    for name, attributes in graph.nodes(data=True):
        yield node_record(name, attributes, node_type, key)
    keyed = graph.edges(keys=True, data=True) if graph.is_multigraph() else _without_keys(graph)
    for start, end, id, attributes in keyed:
        yield edge_record(start, end, attributes, edge_type, id)


def _without_keys(graph: Any) -> Iterator[tuple[Any, Any, None, Any]]:
    return ((start, end, None, attributes) for start, end, attributes in graph.edges(data=True))
