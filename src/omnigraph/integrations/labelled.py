"""A schema for graphs whose labels nobody knows before, as language models extract them, and the work on it.

Labels and properties are data here: every node is an `Entity` with a label, every edge a `Relates` with one.
Where the types are known, a schema of their own checks more; stores for language models take what comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LabelledEntity", "LabelledGraph", "LabelledRelation", "labelled_schema"]

SCHEMA = """
node Entity {{
  key: String @key
  label: String @index
  name: String
  text: String? @index
  properties: String
  embedding: Vector({dimension})? @index
}}
edge Relates: Entity -> Entity {{
  label: String
  properties: String
  @key(src, dst, label)
}}
"""
_READ = "return { $e.key, $e.label, $e.name, $e.text, $e.properties, $e.embedding } order { $e.key }"
_TRIPLE = """return {
    $s.key, $s.label, $s.name, $s.text, $s.properties, $s.embedding,
    $r.label as relation, $r.properties as relation_properties,
    $e.key, $e.label, $e.name, $e.text, $e.properties, $e.embedding
  }
  order { $s.key, relation, $e.key }"""
_ALL = "query entities() { match { $e: Entity } " + _READ + " }"
_SOME = "query named($keys: [String]) { match { $e: Entity  $e.key in $keys } " + _READ + " }"
_TRIPLES = "query triples() { match { $s: Entity  $s $r:relates $e } " + _TRIPLE + " }"
_TRIPLES_OF = (
    """query around($keys: [String]) {
      match { $s: Entity  $s $r:relates $e  $s.key in $keys or $e.key in $keys } """
    + _TRIPLE
    + " }"
)
_NEAR = """query near($vector: Vector({dimension})) {{
  match {{ $e: Entity }}
  return {{
    $e.key, $e.label, $e.name, $e.text, $e.properties, $e.embedding,
    nearest($e.embedding, $vector) as distance
  }}
  order {{ nearest($e.embedding, $vector) }}
  limit {most}
}}"""


@dataclass(frozen=True, slots=True)
class LabelledEntity:
    """A node as those who do not know the schema see it."""

    key: str
    label: str
    name: str
    text: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    embedding: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class LabelledRelation:
    """An edge between two of them, by their keys."""

    label: str
    start: str
    end: str
    properties: Mapping[str, Any] = field(default_factory=dict)


Triple = tuple[LabelledEntity, LabelledRelation, LabelledEntity]


class LabelledGraph:
    """Entities and relations with labels that are data, in a graph of the schema of this module."""

    def __init__(self, graph: Any, dimension: int = 1536) -> None:
        """Stand for a graph that was made with `labelled_schema(dimension)`."""
        self.graph = graph
        self.dimension = dimension

    def put(
        self,
        entities: Iterable[LabelledEntity] = (),
        relations: Iterable[LabelledRelation] = (),
        message: str | None = None,
    ) -> None:
        """Add entities and relations, or replace those that are there, as one commit."""
        records = [*map(_entity_record, entities), *map(_relation_record, relations)]
        if records:
            self.graph.load(records, mode="merge", message=message)

    def entities(self, keys: Sequence[str] | None = None) -> list[LabelledEntity]:
        """Return all entities, or those with one of some keys."""
        if keys is None:
            return [_entity(row, "e") for row in self.graph.query(_ALL)]
        return [_entity(row, "e") for row in self.graph.query(_SOME, {"keys": list(keys)})]

    def triples(self, keys: Sequence[str] | None = None) -> list[Triple]:
        """Return all relations with their two ends, or those that begin or end at one of some keys."""
        found = (
            self.graph.query(_TRIPLES)
            if keys is None
            else self.graph.query(_TRIPLES_OF, {"keys": list(keys)})
        )
        return [_triple(row) for row in found]

    def around(self, keys: Sequence[str], depth: int, most: int, without: Iterable[str] = ()) -> list[Triple]:
        """Return relations within some hops of some entities, nearest first, each once."""
        left_out, front, seen, found = (
            set(without),
            set(keys),
            set(keys),
            dict[tuple[str, str, str], Triple](),
        )
        for _ in range(depth):
            reached: set[str] = set()
            for triple in self.triples(sorted(front)):
                if triple[1].label not in left_out:
                    found.setdefault((triple[1].start, triple[1].label, triple[1].end), triple)
                    reached |= {triple[1].start, triple[1].end}
            front, seen = reached - seen, seen | reached
            if not front or len(found) >= most:
                break
        return list(found.values())[:most]

    def near(self, vector: Sequence[float], most: int) -> list[tuple[LabelledEntity, float]]:
        """Return the entities that are nearest to a vector, with their similarity by cosine."""
        text = _NEAR.format(dimension=self.dimension, most=int(most))
        rows = self.graph.query(text, {"vector": list(vector)}).rows
        return [(_entity(row, "e"), 1.0 - row["distance"]) for row in rows]

    def remove(self, keys: Sequence[str], relations: Iterable[LabelledRelation] = ()) -> None:
        """Remove entities, with the relations to and from them, and single relations."""
        if keys:
            self.graph.mutate(
                "query q($keys: [String]) { delete Entity where key in $keys }", {"keys": list(keys)}
            )
        for each in relations:
            self.graph.mutate(
                """query q($s: String, $e: String, $label: String) {
                  match {
                    $a: Entity { key: $s }
                    $b: Entity { key: $e }
                    $a $r:relates $b
                    $r.label = $label
                  }
                  delete $r
                }""",
                {"s": each.start, "e": each.end, "label": each.label},
            )


def labelled_schema(dimension: int = 1536) -> str:
    """Return the schema for a graph with labels that are data, and vectors of a dimension."""
    return SCHEMA.format(dimension=dimension)


def _entity_record(entity: LabelledEntity) -> dict[str, Any]:
    return {
        "type": "Entity",
        "data": {
            "key": entity.key,
            "label": entity.label,
            "name": entity.name,
            "text": entity.text,
            "properties": json.dumps(dict(entity.properties), sort_keys=True),
            "embedding": None if entity.embedding is None else list(entity.embedding),
        },
    }


def _relation_record(relation: LabelledRelation) -> dict[str, Any]:
    properties = json.dumps(dict(relation.properties), sort_keys=True)
    data = {"label": relation.label, "properties": properties}
    return {"edge": "Relates", "from": relation.start, "to": relation.end, "data": data}


def _entity(row: Mapping[str, Any], variable: str) -> LabelledEntity:
    key, label, name, text, properties, embedding = (
        row[f"{variable}.{word}"] for word in ("key", "label", "name", "text", "properties", "embedding")
    )
    return LabelledEntity(key, label, name, text, json.loads(properties), embedding)


def _triple(row: Mapping[str, Any]) -> Triple:
    start, end = _entity(row, "s"), _entity(row, "e")
    properties = json.loads(row["relation_properties"])
    return start, LabelledRelation(row["relation"], start.key, end.key, properties), end
