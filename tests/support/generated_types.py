"""Random clauses over several types: bindings, and traversals over several edges or any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.typecheck.patterns.ways import (
    BoundEnds,
    ChosenWays,
    choose_ways_of_hops,
    choose_ways_of_one_hop,
)
from support.generated_conditions import NUMBERS, Scope, Variable
from support.generated_graphs import Shape, Type


@dataclass
class SeveralTypes:
    """Draws clauses over several types; what it binds is put into the scope."""

    draw: st.DrawFn
    shape: Shape
    new_name: Callable[..., str]

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times; False is the simpler."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def binding(self, scope: Scope) -> str:
        """Return a binding to several node types, or of a variable to some of its types."""
        names = [item.name for item in self.shape.nodes]
        united = [item for item in scope if item.kind == "node" and item.is_united]
        if united and self.chance(3):
            variable = self.draw(st.sampled_from(united))
            # Fewer types would change which properties the scope has.
            return f"${variable.name}: {'|'.join(names if self.chance(2) else variable.types)}"
        types = tuple(sorted(self.some(names, 2)))
        name = self.new_name(scope)
        scope.append(self.variable(name, "node", types))
        return f"${name}: {'|'.join(types)}"

    def some(self, items: Iterable[str], least: int) -> list[str]:
        """Return at least so many of some names, or all of fewer."""
        known = list(items)
        least = min(least, len(known))
        return self.draw(st.lists(st.sampled_from(known), min_size=least, unique=True))

    def traversal(self, scope: Scope) -> str | None:
        """Return a traversal over several edges, or any; None if what was drawn does not fit the scope."""
        nodes = [item for item in scope if item.kind == "node"]
        source: Variable | None = self.draw(st.sampled_from(nodes)) if nodes and not self.chance(6) else None
        target: Variable | None = self.draw(st.sampled_from(nodes)) if nodes and self.chance(4) else None
        catalog = _catalog(self.shape.text)
        is_any = self.chance(3)
        loops = [edge.name for edge in catalog.edges if edge.source == edge.target]
        undirected = self.chance(3) and (is_any or bool(loops))
        words = [edge.name for edge in catalog.edges]
        if not is_any:
            words = self.some(loops if undirected else words, 2)
        edges = [edge for edge in catalog.edges if edge.name in words]
        low, high = (1, self.draw(st.integers(1, 3))) if self.chance(3) else (1, 1)
        ends = BoundEnds(_types(source), _types(target), source is not None and source is target)
        choose = choose_ways_of_one_hop if (low, high) == (1, 1) else choose_ways_of_hops
        chosen = choose(edges, ends, undirected, is_any)
        if not isinstance(chosen, ChosenWays):
            return None
        edge_name = self.new_name(scope) if high == 1 and self.chance(2) else ""
        source_name = source.name if source else self.new_name(scope, edge_name)
        if source is None:
            scope.append(self.variable(source_name, "node", chosen.near))
        target_name = target.name if target else self.new_name(scope, edge_name)
        if target is None:
            scope.append(self.variable(target_name, "node", chosen.far))
        word = "_" if is_any else "|".join(word.lower() for word in words)
        word = f"<{word}>" if undirected else word
        if edge_name:
            scope.append(
                self.variable(edge_name, "edge", tuple(sorted(way.edge_type for way in chosen.ways)))
            )
            word = f"${edge_name}:{word}"
        length = ""
        if not edge_name and self.chance(3):
            followed = [
                item for item in self.shape.edges if item.name in {way.edge_type for way in chosen.ways}
            ]
            length = self.path(scope, tuple(followed), free=True)
        elif self.chance(4):
            length = self.length(scope)
        bounds = f"{{{low},{high}}}" if high > 1 else ""
        return f"${source_name} {word}{bounds} ${target_name}{length}"

    def length(self, scope: Scope) -> str:
        """Return what names the length of the path of a traversal."""
        name = self.new_name(scope)
        scope.append(Variable(name, "length", None))
        return f" as ${name}"

    def path(self, scope: Scope, edges: tuple[Type, ...], free: bool) -> str:
        """Return what names the path of a traversal; `free`, it may be one of the shortest."""
        name, cost, shortest = self.new_name(scope), "I64", ""
        if free and self.chance(2):
            shared = self.variable("", "edge", tuple(sorted(edge.name for edge in edges))).type
            assert shared is not None
            weights = [item for item in shared.properties if item.base in NUMBERS and not item.is_list]
            by = ""
            if weights and not self.chance(4):
                # A weight that was made to be one comes last.
                weight = weights[-1] if not self.chance(8) else self.draw(st.sampled_from(weights))
                by, cost = f" by {weight.name}", "F64" if weight.base.startswith("F") else "I64"
            count = self.draw(st.sampled_from(["", " 1", " 2", " 3", " 40"]))
            shortest = f" shortest{count}{by}"
        scope.append(Variable(name, "path", None, base=cost))
        return f"{shortest} as path ${name}"

    def variable(self, name: str, kind: str, types: tuple[str, ...]) -> Variable:
        """Return a variable with the properties that its types share."""
        owners = [item for item in (*self.shape.nodes, *self.shape.edges) if item.name in types]
        if len(owners) == 1:
            return Variable(name, kind, owners[0])
        shared = tuple(
            item
            for item in owners[0].properties
            if all(
                any(
                    (other.name, other.base, other.is_list) == (item.name, item.base, item.is_list)
                    for other in owner.properties
                )
                for owner in owners[1:]
            )
        )
        return Variable(name, kind, Type("|".join(types), shared), types)


def _types(variable: Variable | None) -> tuple[str, ...] | None:
    if variable is None:
        return None
    assert variable.type is not None
    return variable.types or (variable.type.name,)


@lru_cache(maxsize=16)
def _catalog(text: str) -> Catalog:
    return compile_schema(text)
