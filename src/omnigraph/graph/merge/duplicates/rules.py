"""Rules that find duplicates, and what became of those that were combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import BadInput, NotFound
from omnigraph.compiler.catalog.model import Catalog, NodeType
from omnigraph.compiler.source import suggest
from omnigraph.graph.entity.combined_pairs import CombinedPair, write_note

_BY_VALUES, _BY_QUERY = {"type", "on"}, {"type", "query"}


@dataclass(frozen=True, slots=True)
class DuplicateRule:
    """Two nodes of a type may be duplicates: by values of some properties, or as a stored query says."""

    type_name: str
    on: tuple[str, ...] = ()
    query: str | None = None
    """The stored query, which returns the ids of both."""

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a user gives it."""
        if self.query is not None:
            return {"type": self.type_name, "query": self.query}
        return {"type": self.type_name, "on": list(self.on)}

    def table(self, catalog: Catalog) -> NodeType:
        """Return the type, checked; its values can be compared."""
        node = catalog.node(self.type_name)
        if node is None:
            hint = suggest(self.type_name, [item.name for item in catalog.nodes])
            raise NotFound(
                f"there is no node type {self.type_name!r}" + (f": {hint}" if hint else ""),
                type=self.type_name,
            )
        for name in self.on:
            declared = node.by_name.get(name)
            if declared is None:
                hint = suggest(name, list(node.by_name))
                raise NotFound(
                    f"{node.name} has no property {name!r}" + (f": {hint}" if hint else ""),
                    type=node.name,
                    property=name,
                )
            if not declared.type.is_plain:
                raise BadInput(
                    f"{node.name}.{name} is {declared.type}: nothing is found to be the same by it",
                    type=node.name,
                    property=name,
                )
        return node


@dataclass(frozen=True, slots=True)
class NodeCombination:
    """Which nodes were combined, and what became of their edges."""

    pairs: tuple[CombinedPair, ...] = ()
    moved: int = 0
    folded: int = 0
    """Edges that were there already, by their key."""
    loops: int = 0
    """Edges between nodes that are one now, which are gone."""

    def add(self, pairs: tuple[CombinedPair, ...], moved: int, folded: int, loops: int) -> NodeCombination:
        """Return the same with what was combined besides."""
        return NodeCombination(
            (*self.pairs, *pairs), self.moved + moved, self.folded + folded, self.loops + loops
        )

    @property
    def edges(self) -> tuple[int, int, int]:
        """How many edges were moved, folded into others, and gone as loops."""
        return self.moved, self.folded, self.loops

    def note(self) -> dict[str, str]:
        """Return what the commit notes of it."""
        return write_note(self.pairs)


def read_rules(given: Any) -> tuple[DuplicateRule, ...]:
    """Return the rules that a user gave: `{"type": "Person", "on": ["mail"]}` or `"query": "same_people"`."""
    if given is None:
        return ()
    items: Sequence[Any] = [given] if isinstance(given, Mapping | DuplicateRule) else given
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise _no_rule(given)
    return tuple(dict.fromkeys(_read(item) for item in items))


def _read(item: Any) -> DuplicateRule:
    if isinstance(item, DuplicateRule):
        return item
    given = {name for name, value in item.items() if value is not None} if isinstance(item, Mapping) else ()
    if given == _BY_QUERY and all(isinstance(item[name], str) and item[name] for name in _BY_QUERY):
        return DuplicateRule(item["type"], query=item["query"])
    if given != _BY_VALUES:
        raise _no_rule(item)
    names = item["on"]
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, Sequence) or not names:
        raise _no_rule(item)
    if not all(isinstance(name, str) and name for name in (item["type"], *names)):
        raise _no_rule(item)
    return DuplicateRule(item["type"], tuple(dict.fromkeys(names)))


def _no_rule(given: object) -> BadInput:
    return BadInput(
        f"same_as has {given!r}: give {{'type': 'Person', 'on': ['mail']}}, or "
        "{'type': 'Person', 'query': 'same_people'}, or a list of such"
    )
