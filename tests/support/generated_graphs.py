"""Random schemas, and random graphs that fit them: nulls, equal values, loops, parallel edges, hubs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from omnigraph.compiler.frontend import compile_schema
from support.reference_graph import MemoryGraph

COMPONENTS = (1, 0, -1, 0.37, 2.5, -1.21, 3.3)
"""Numbers of vectors; few of them point the same way."""
# Large numbers are positive only, so that a sum in another order is the same to many digits.
VALUES: dict[str, tuple[Any, ...]] = {
    # Few enough to meet again; some are split or ordered differently by careless programs.
    "String": ("dog", "the quick brown fox", "Running dogs", "a dog runs; the fox ran", "café au lait",
               "cafe", "a_b c%d", "", "the", "Ärger ÄRGER", "日本 dog", "e\u0301", "z\uffff", "z😀",
               '"q"\\ \n'),
    "Bool": (False, True),
    "I32": (0, 1, 2, 3, -1, -2, 2**31 - 1),
    "I64": (0, 1, 2, 3, -1, 2**53 + 1, 2**63 - 1),
    "U32": (0, 1, 2, 3, 2**32 - 1),
    "U64": (0, 1, 2, 3, 2**53 + 1, 2**63, 2**64 - 1),
    "F32": (0.0, 1.0, 2.0, 0.1, -1.5, -0.0, 16777216.0),
    "F64": (0.0, 1.0, 2.0, 0.1, -1.5, -0.0, 0.10000000149011612, 9007199254740992.0, 1e300),
    "Date": ("2024-02-29", "2024-03-01", "1969-12-31", "2023-12-31", "0001-01-01"),
    "DateTime": ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00.001Z", "2024-02-29T23:00:00-02:00",
                 "1969-12-31T23:59:59.999Z", "2024-03-01T00:00:00Z"),
    "enum(blue, green, red)": ("red", "green", "blue"),
}  # fmt: skip
KEYS: dict[str, tuple[Any, ...]] = {
    "String": ("n0", "n1", "N1", "ü2", "日3", "z😀4", "z\uffff5", "n 6", "7"),
    "I64": (0, 1, 2, 10, -3, 2**62, 7, 100, 9),
    "Date": tuple(f"2024-02-2{day}" for day in range(1, 10)),
}


@dataclass(frozen=True)
class Property:
    """A declared property."""

    name: str
    base: str
    """The type without list and question mark, as it is written; `Vector(n)` for vectors."""
    is_list: bool = False
    is_nullable: bool = False
    is_key: bool = False
    is_indexed: bool = False

    @property
    def declared(self) -> str:
        """The type as it is written."""
        written = f"[{self.base}]" if self.is_list else self.base
        return written + "?" * self.is_nullable

    @property
    def scalar(self) -> str:
        """The type that a parameter beside it would have, without list and question mark."""
        return "String" if self.base.startswith("enum") else self.base

    @property
    def simplest(self) -> Any:
        """A value in the load format."""
        if self.is_vector:
            return [1] * int(self.base[7:-1])
        return [] if self.is_list else VALUES[self.base][0]

    @property
    def is_vector(self) -> bool:
        """Whether it holds vectors."""
        return self.base.startswith("Vector")


@dataclass(frozen=True)
class Type:
    """A node type, or an edge type with ends."""

    name: str
    properties: tuple[Property, ...]
    source: str = ""
    target: str = ""

    @property
    def written(self) -> str:
        """The declaration."""
        ends = f": {self.source} -> {self.target}" if self.source else ""
        notes = {item.name: " @key" * item.is_key + " @index" * item.is_indexed for item in self.properties}
        body = "".join(f"  {item.name}: {item.declared}{notes[item.name]}\n" for item in self.properties)
        return f"{'edge' if self.source else 'node'} {self.name}{ends} {{\n{body}}}\n"


@dataclass(frozen=True)
class Shape:
    """A schema."""

    nodes: tuple[Type, ...]
    edges: tuple[Type, ...]

    @property
    def text(self) -> str:
        """The schema as it is written."""
        return "".join(item.written for item in (*self.nodes, *self.edges))

    def node(self, name: str) -> Type:
        """Return a node type."""
        return next(item for item in self.nodes if item.name == name)


_bases = st.sampled_from(
    ["String", "String", "Vector(2)", "Vector(3)", "I32", "I64", "F64", "Date", "DateTime", "Bool"]
    + [base for base in VALUES if base not in ("String", "Bool")]
)


@st.composite
def _properties(draw: st.DrawFn, of_nodes: bool, most: int) -> tuple[Property, ...]:
    found = []
    for number in range(draw(st.integers(1 if of_nodes else 0, most))):
        base = draw(_bases)
        is_list = not base.startswith(("Vector", "enum")) and draw(st.integers(0, 4)) == 0
        nullable = draw(st.integers(0, 3)) > 0
        indexed = of_nodes and not is_list and draw(st.booleans())
        found.append(Property(f"p{number}", base, is_list, nullable, is_indexed=indexed))
    return tuple(found)


_WEIGHTS = ("F64", "I32", "F32", "U64", "F64")
"""The types of weights, which are never negative and never NULL, so that paths can be short by them."""
_TEXT = Property("text", "String", is_nullable=True, is_indexed=True)
_VECTOR = Property("vec", "Vector(2)", is_nullable=True, is_indexed=True)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Return schemas of one to three node types and as many edge types."""
    nodes = []
    for name in ("Ant", "Bee", "Cat")[: draw(st.integers(1, 3))]:
        key = draw(st.sampled_from([None, *KEYS]))
        first = (Property("key", key, is_key=True),) if key else ()
        searched = draw(st.sampled_from([(), (_TEXT,), (_TEXT, _VECTOR), (_TEXT, _VECTOR)]))
        nodes.append(Type(name, (*first, *draw(_properties(of_nodes=True, most=3)), *searched)))
    names = [item.name for item in nodes]
    edges = []
    for name in ("Likes", "Meets", "Owns")[: draw(st.integers(1, 3))]:
        source = draw(st.sampled_from(names))
        # Edges between equal types are wanted most: only they chain.
        target = source if draw(st.integers(0, 2)) else draw(st.sampled_from(names))
        weight = draw(st.sampled_from([(), *((Property("w", base),) for base in _WEIGHTS)]))
        edges.append(Type(name, (*draw(_properties(of_nodes=False, most=2)), *weight), source, target))
    return Shape(tuple(nodes), tuple(edges))


def values_of(item: Property) -> st.SearchStrategy[Any]:
    """Return values of a property in the load format, without null."""
    if item.is_vector:
        width = int(item.base[7:-1])
        return st.lists(st.sampled_from(COMPONENTS), min_size=width, max_size=width)
    values = [value for value in VALUES[item.base] if item.name != "w" or value >= 0]
    one = st.sampled_from(values)
    return st.lists(one, max_size=3) if item.is_list else one


@st.composite
def _rows(draw: st.DrawFn, owner: Type) -> dict[str, Any]:
    data = {}
    for item in owner.properties:
        if not item.is_key and not (item.is_nullable and draw(st.integers(0, 3)) == 0):
            data[item.name] = draw(values_of(item))
    return data


@dataclass(frozen=True)
class World:
    """A schema and the records of a graph, all with known ids, nodes first."""

    shape: Shape
    records: tuple[dict[str, Any], ...]

    def reference(self) -> MemoryGraph:
        """Return the graph in dictionaries."""
        graph = MemoryGraph(compile_schema(self.shape.text))
        graph.load(self.records)
        return graph


@st.composite
def worlds(draw: st.DrawFn, largest: int = 8) -> World:
    """Return graphs of up to `largest` nodes a type; the first nodes have the most edges."""
    shape = draw(shapes())
    records: list[dict[str, Any]] = []
    for node in shape.nodes:
        for number in range(draw(_mostly(largest))):
            data = draw(_rows(node))
            key = next((item for item in node.properties if item.is_key), None)
            if key is None:
                data["id"] = f"{node.name.lower()}{number}"
            else:
                data["key"] = KEYS[key.base][number]
            records.append({"type": node.name, "data": data})
    nodes = World(shape, tuple(records)).reference().nodes
    for edge in shape.edges:
        sources, targets = list(nodes[edge.source]), list(nodes[edge.target])
        if not sources or not targets:
            continue
        for number in range(draw(_mostly(2 * largest))):
            ends = draw(_skewed(len(sources))), draw(_skewed(len(targets)))
            data = {**draw(_rows(edge)), "id": f"{edge.name.lower()}{number}"}
            records.append(
                {"edge": edge.name, "from": sources[ends[0]], "to": targets[ends[1]], "data": data}
            )
    return World(shape, tuple(records))


LIBRARY = Shape(
    (Type("Doc", (Property("key", "String", is_key=True), Property("p0", "I32", is_nullable=True), _TEXT,
                  Property("vec", "Vector(3)", is_nullable=True, is_indexed=True))),),
    (Type("Likes", (), "Doc", "Doc"),),
)  # fmt: skip


def library(seed: int, size: int = 300) -> World:
    """Return a graph that is large enough for every index: a vector index needs 256 vectors.

    Half of the vectors are equal to others, and many texts are, so that pages end between ties.
    """
    chosen = random.Random(seed)
    shared = [[round(chosen.gauss(0, 1), 3) for _ in range(3)] for _ in range(size // 10)]
    records: list[dict[str, Any]] = []
    for number in range(size):
        data: dict[str, Any] = {"key": f"d{number}", "p0": chosen.choice(VALUES["I32"])}
        data["text"] = " ".join(chosen.choices(VALUES["String"], k=chosen.randint(1, 3)))
        own = [round(chosen.gauss(0, 1), 3) for _ in range(3)]
        data["vec"] = chosen.choice([own, chosen.choice(shared)])
        # Few enough without a vector that the others can be indexed.
        for name in [name for name in ("p0", "text", "vec") if chosen.random() < 0.04]:
            del data[name]
        records.append({"type": "Doc", "data": data})
    for number in range(size // 2):
        ends = {end: f"d{min(chosen.randrange(size), chosen.randrange(size))}" for end in ("from", "to")}
        records.append({"edge": "Likes", **ends, "data": {"id": f"likes{number}"}})
    return World(LIBRARY, tuple(records))


def _skewed(count: int) -> st.SearchStrategy[int]:
    return st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).map(min)


def _mostly(count: int) -> st.SearchStrategy[int]:
    """Return numbers up to a count, large ones more often, that shrink to none."""
    return st.tuples(*[st.integers(0, count)] * 3).map(max)
