"""LlamaIndex: a graph as a `PropertyGraphStore`, for `PropertyGraphIndex` and its retrievers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.vector_stores.types import VectorStoreQuery

from omnigraph.integrations.labelled import LabelledEntity, LabelledGraph, LabelledRelation, Triple

__all__ = ["OmniGraphPropertyStore"]


class OmniGraphPropertyStore(PropertyGraphStore):  # type: ignore[misc]
    """A graph of `labelled_schema(dimension)` as a store of LlamaIndex, on the handle's branch.

    Every call that writes is one commit. A structured query is a query in our language.
    """

    supports_structured_queries = True
    supports_vector_queries = True

    def __init__(self, graph: Any, dimension: int = 1536) -> None:
        """Stand for a graph; `dimension` is that of its vectors."""
        self._stored = LabelledGraph(graph, dimension)

    @property
    def client(self) -> Any:
        """The graph."""
        return self._stored.graph

    def get(
        self, properties: Mapping[str, Any] | None = None, ids: Sequence[str] | None = None
    ) -> list[LabelledNode]:
        """Return nodes with some ids, and with these properties."""
        found = self._stored.entities(ids)
        return [_node(each) for each in found if _has(each, properties)]

    def get_triplets(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Triplet]:
        """Return relations whose ends or labels are among those that are named."""
        if not (entity_names or relation_names or properties or ids):
            return []
        return [_triplet(each) for each in self._choose(entity_names, relation_names, properties, ids)]

    def get_rel_map(
        self,
        graph_nodes: Sequence[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: Sequence[str] | None = None,
    ) -> list[Triplet]:
        """Return relations within some hops of some nodes."""
        keys = [node.id for node in graph_nodes]
        return [_triplet(each) for each in self._stored.around(keys, depth, limit, ignore_rels or ())]

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Add nodes, or replace those with their ids, as one commit."""
        self._stored.put(entities=map(_entity, nodes))

    def upsert_relations(self, relations: Sequence[Relation]) -> None:
        """Add relations, or replace those with their ends and labels, as one commit."""
        self._stored.put(
            relations=[
                LabelledRelation(each.label, each.source_id, each.target_id, each.properties)
                for each in relations
            ]
        )

    def delete(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Delete the nodes that are named, with their relations, and the relations with some labels."""
        wanted = set(ids or ()) | set(entity_names or ())
        if properties:
            wanted |= {each.key for each in self._stored.entities() if _has(each, properties)}
        known = [each.key for each in self._stored.entities(sorted(wanted))] if wanted else []
        gone = [triple[1] for triple in self._stored.triples()] if relation_names else []
        self._stored.remove(known, [each for each in gone if each.label in (relation_names or ())])

    def structured_query(self, query: str, param_map: Mapping[str, Any] | None = None) -> Any:
        """Run a query in our language, and return its rows."""
        return self.client.query(query, dict(param_map or {})).rows

    def vector_query(self, query: VectorStoreQuery, **_: Any) -> tuple[list[LabelledNode], list[float]]:
        """Return the nodes that are nearest to the query's embedding, and how similar they are."""
        found = self._stored.near(query.query_embedding, query.similarity_top_k)
        return [_node(each) for each, _score in found], [score for _each, score in found]

    def get_schema(self, refresh: bool = False) -> str:
        """Return the schema as text."""
        return str(self.client.schema.source)

    def _choose(
        self,
        names: Sequence[str] | None,
        labels: Sequence[str] | None,
        properties: Mapping[str, Any] | None,
        ids: Sequence[str] | None,
    ) -> Iterable[Triple]:
        keys = sorted({*(names or ()), *(ids or ())}) or None
        for triple in self._stored.triples(keys):
            if labels and triple[1].label not in labels:
                continue
            if properties and not (_has(triple[0], properties) or _has(triple[2], properties)):
                continue
            yield triple


def _has(entity: LabelledEntity, properties: Mapping[str, Any] | None) -> bool:
    return all(entity.properties.get(name) == value for name, value in (properties or {}).items())


def _entity(node: LabelledNode) -> LabelledEntity:
    text = node.text if isinstance(node, ChunkNode) else None
    name = node.name if isinstance(node, EntityNode) else node.id
    return LabelledEntity(node.id, node.label, name, text, node.properties, node.embedding)


def _node(entity: LabelledEntity) -> LabelledNode:
    given = {"label": entity.label, "properties": dict(entity.properties), "embedding": entity.embedding}
    if entity.text is not None:
        return ChunkNode(text=entity.text, id_=entity.key, **given)
    return EntityNode(name=entity.name, **given)


def _triplet(triple: Triple) -> Triplet:
    start, relation, end = triple
    edge = Relation(
        label=relation.label, source_id=start.key, target_id=end.key, properties=dict(relation.properties)
    )
    return [_node(start), edge, _node(end)]
