"""Graphs of igraph, whose licence is the GPL: a commit as one of theirs, and theirs as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from omnigraph.execution.optional import import_optional
from omnigraph.integrations.records import edge_record, node_record, read_content

__all__ = ["from_igraph", "to_igraph"]


def to_igraph(
    graph: Any, *, branch: str | None = None, snapshot: Any = None, types: Sequence[str] | None = None
) -> Any:
    """Return a commit as a directed `igraph.Graph`.

    Vertices have `type`, `name` (the id) and their properties as attributes, edges `type`, `id` and theirs.
    What a type does not have is None.
    """
    igraph = import_optional("igraph", "a graph of igraph")
    content = read_content(graph, branch, snapshot, types)
    places = {node.name: place for place, node in enumerate(content.nodes)}
    made = igraph.Graph(directed=True)
    made.add_vertices(
        len(content.nodes),
        {
            "type": [node.name[0] for node in content.nodes],
            **_columns([node.properties for node in content.nodes]),
            "name": [node.name[1] for node in content.nodes],
        },
    )
    made.add_edges(
        [(places[edge.start], places[edge.end]) for edge in content.edges],
        {
            **_columns([edge.properties for edge in content.edges]),
            "type": [edge.type for edge in content.edges],
            "id": [edge.id for edge in content.edges],
        },
    )
    return made


def from_igraph(
    graph: Any, *, node_type: str | None = None, key: str = "name", edge_type: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the vertices and edges of a graph of igraph as records, for `load(…, mode="merge")`.

    A vertex is called by its attribute `name`, or by its number. Its type is its attribute `type`, or
    `node_type`; its name is the value of the property `key`. Attributes that are None are left out.
    """
    names = [vertex.attributes().get("name", vertex.index) for vertex in graph.vs]
    for name, vertex in zip(names, graph.vs, strict=True):
        yield node_record(name, _without_none(vertex.attributes(), "name"), node_type, key)
    for edge in graph.es:
        given = _without_none(edge.attributes())
        id = given.pop("id", None)
        yield edge_record(names[edge.source], names[edge.target], given, edge_type, id)


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    words = sorted({word for row in rows for word in row})
    return {word: [row.get(word) for row in rows] for word in words}


def _without_none(attributes: dict[str, Any], *besides: str) -> dict[str, Any]:
    return {word: value for word, value in attributes.items() if value is not None and word not in besides}
