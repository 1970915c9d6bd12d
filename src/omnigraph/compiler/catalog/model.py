"""The catalog: what a schema means once it is compiled. Frozen values, no behaviour beyond look-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

from omnigraph.compiler.types import PropertyType

LiteralValue: TypeAlias = "str | int | float | bool | tuple[LiteralValue, ...] | None"
TypeKind = Literal["node", "edge", "interface"]
TableKind = Literal["node", "edge"]
END_COLUMNS: Mapping[str, str] = {"from": "src", "to": "dst"}
"""By the name that an end of an edge has in records and results, the column that stores it."""
EDGE_ENDS = tuple(END_COLUMNS.values())
"""The columns of the nodes that an edge joins; constraints may name them beside properties."""


@dataclass(frozen=True, slots=True)
class Embed:
    """A vector property's source text property and, if given, the model that must embed it."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation without meaning of its own, kept for clients."""

    name: str
    value: LiteralValue = None
    arguments: tuple[tuple[str, LiteralValue], ...] = ()


@dataclass(frozen=True, slots=True)
class Default:
    """A property's default value, already converted to the property's type (dates as ISO text)."""

    value: LiteralValue


@dataclass(frozen=True, slots=True)
class Property:
    """One property; `id` is stable across renames and is never reused."""

    id: int
    name: str
    type: PropertyType
    default: Default | None = None
    embed: Embed | None = None
    merge_rule: str | None = None
    description: str | None = None
    annotations: tuple[Annotation, ...] = ()
    from_interface: str | None = None
    """The interface that injected this property, or None when the type declares it itself."""
    inline_unique: bool = False
    """Whether `@unique` is written on the property; a migration may not move it into the body."""
    other_names: tuple[str, ...] = ()
    """What newer schemas call it; only for reading old commits, never stored."""


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds on a numeric property; None leaves a side open."""

    property: str
    low: float | int | None
    high: float | int | None


@dataclass(frozen=True, slots=True)
class Check:
    """A regular expression that a String property must contain a match of."""

    property: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Cardinality:
    """How many edges of a type one source node may have."""

    low: int = 0
    high: int | None = None

    @property
    def is_default(self) -> bool:
        """Whether every count is allowed."""
        return self.low == 0 and self.high is None


@dataclass(frozen=True)
class InterfaceType:
    """A set of properties that node types may implement; it has no table."""

    id: int
    name: str
    properties: tuple[Property, ...] = ()
    """Sorted by name."""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class NodeType:
    """A node type. `id` names the type for ever; `table_id` names the lifetime of its table."""

    id: int
    name: str
    table_id: int
    properties: tuple[Property, ...] = ()
    """Sorted by name, those of interfaces included."""
    key: tuple[str, ...] | None = None
    """Property names sorted by property id: the order in which they form the node's id."""
    uniques: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    """Declared index intent, that of the key included; each tuple sorted by name."""
    ranges: tuple[Range, ...] = ()
    checks: tuple[Check, ...] = ()
    implements: tuple[str, ...] = ()
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[Annotation, ...] = ()
    other_names: tuple[str, ...] = ()
    """What newer schemas call it; only for reading old commits, never stored."""

    kind: Literal["node"] = field(default="node", init=False)

    @property
    def table_key(self) -> str:
        """The name of this type's table in snapshots and errors."""
        return f"node:{self.name}"

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        """The properties by name."""
        return {item.name: item for item in self.properties}

    @cached_property
    def by_any_name(self) -> Mapping[str, Property]:
        """The properties by name and, where those are free, by what newer schemas call them."""
        return _by_any_name(self.properties)


@dataclass(frozen=True)
class EdgeType:
    """An edge type from `source` nodes to `target` nodes."""

    id: int
    name: str
    table_id: int
    source: str
    target: str
    cardinality: Cardinality = Cardinality()
    properties: tuple[Property, ...] = ()
    key: tuple[str, ...] | None = None
    """`src`, `dst` and the properties that an edge's id is formed of, in this order; those sorted by id."""
    uniques: tuple[tuple[str, ...], ...] = ()
    """May name `src` and `dst` beside properties."""
    indexes: tuple[tuple[str, ...], ...] = ()
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[Annotation, ...] = ()
    other_names: tuple[str, ...] = ()
    """What newer schemas call it; only for reading old commits, never stored."""

    kind: Literal["edge"] = field(default="edge", init=False)

    @property
    def table_key(self) -> str:
        """The name of this type's table in snapshots and errors."""
        return f"edge:{self.name}"

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        """The properties by name."""
        return {item.name: item for item in self.properties}

    @cached_property
    def by_any_name(self) -> Mapping[str, Property]:
        """The properties by name and, where those are free, by what newer schemas call them."""
        return _by_any_name(self.properties)


TableType: TypeAlias = NodeType | EdgeType


@dataclass(frozen=True)
class Catalog:
    """A compiled schema. Each tuple is sorted by name; `last_id` is the highest stable id ever given out."""

    interfaces: tuple[InterfaceType, ...] = ()
    nodes: tuple[NodeType, ...] = ()
    edges: tuple[EdgeType, ...] = ()
    last_id: int = 0

    @property
    def tables(self) -> tuple[TableType, ...]:
        """All types that have a table: nodes, then edges."""
        return (*self.nodes, *self.edges)

    def node(self, name: str) -> NodeType | None:
        """Return the node type with exactly this name."""
        return self._nodes.get(name)

    def edge(self, name: str) -> EdgeType | None:
        """Return the edge type with this name, ignoring case."""
        return self._edges.get(name.lower())

    def table(self, table_key: str) -> TableType | None:
        """Return the type whose table key is `node:Name` or `edge:Name`."""
        return self._tables.get(table_key)

    def edges_of(self, node: str) -> tuple[EdgeType, ...]:
        """Return the edge types that start or end at this node type."""
        return tuple(edge for edge in self.edges if node in (edge.source, edge.target))

    def find_types(self, name: str) -> tuple[TableType, ...]:
        """Return the types of a name, or of a table key such as `edge:Knows`: a node and an edge at most."""
        if name in self._tables:
            return (self._tables[name],)
        found = (self._tables.get(f"node:{name}"), self._tables.get(f"edge:{name}"))
        return tuple(item for item in found if item is not None)

    @cached_property
    def _nodes(self) -> Mapping[str, NodeType]:
        return _by_any_name(self.nodes)

    @cached_property
    def _edges(self) -> Mapping[str, EdgeType]:
        return {name.lower(): item for name, item in reversed(_by_any_name(self.edges).items())}

    @cached_property
    def _tables(self) -> Mapping[str, TableType]:
        nodes = {f"node:{name}": item for name, item in _by_any_name(self.nodes).items()}
        edges = {f"edge:{name}": item for name, item in _by_any_name(self.edges).items()}
        return {**nodes, **edges}


_Named = TypeVar("_Named", Property, NodeType, EdgeType)


def _by_any_name(items: Sequence[_Named]) -> dict[str, _Named]:
    """Return items by their own names and, where those are free, by their other names."""
    found = {item.name: item for item in items}
    for item in items:
        for name in item.other_names:
            found.setdefault(name, item)
    return found
