"""Which way each edge of a traversal is followed, and which types its ends then have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Direction, Way
from omnigraph.compiler.query import ast

ANY_EDGE = "_"
"""The name that stands for any edge; no edge can have it, as names of types begin with a capital."""


@dataclass(frozen=True, slots=True)
class BoundEnds:
    """The types of the ends that are bound already; None for an end that is not."""

    near: tuple[str, ...] | None
    far: tuple[str, ...] | None
    is_loop: bool
    """Whether both ends are one variable."""

    def fit(self, source: str, target: str) -> bool:
        """Return whether an edge can be followed from one type to another."""
        fits = (self.near is None or source in self.near) and (self.far is None or target in self.far)
        return fits and (not self.is_loop or self.near is not None or source == target)


@dataclass(frozen=True, slots=True)
class ChosenWays:
    """The ways of a traversal, and the types of its ends as far as these decide."""

    ways: tuple[Way, ...]
    near: tuple[str, ...]
    far: tuple[str, ...]


def is_any_edge(node: ast.Traversal) -> bool:
    """Return whether a traversal follows any edge."""
    return node.edge.text == ANY_EDGE and not node.more


def describe_edge(edge: EdgeType) -> str:
    """Return an edge and its ends in words."""
    return f"edge {edge.name} joins {edge.source} -> {edge.target}"


def choose_ways_of_one_hop(
    edges: list[EdgeType], ends: BoundEnds, undirected: bool, is_any: bool
) -> ChosenWays | EdgeType | None:
    """Follow each edge as if it were alone: forwards where its ends fit, else backwards.

    Return an edge that does not fit instead; of any edge only those are followed that fit forwards, and
    None is returned if there are none.
    """
    ways: list[Way] = []
    pairs: list[tuple[str, str]] = []
    for edge in edges:
        forward = (edge.source, edge.target)
        backward = forward[::-1]
        if undirected:
            fitting = [pair for pair in dict.fromkeys((forward, backward)) if ends.fit(*pair)]
            direction = Direction.BOTH
        elif ends.fit(*forward):
            fitting, direction = [forward], Direction.FORWARD
        else:
            fitting = [backward] if ends.fit(*backward) and not is_any else []
            direction = Direction.BACKWARD
        if fitting:
            ways.append(Way(edge.name, direction))
            pairs += fitting
        elif not is_any:
            return edge
    if not ways:
        return None
    return ChosenWays(tuple(ways), _sort(near for near, _ in pairs), _sort(far for _, far in pairs))


def choose_ways_of_hops(
    edges: list[EdgeType], ends: BoundEnds, undirected: bool, is_any: bool
) -> ChosenWays | EdgeType | None:
    """Follow all edges one way, as any of them may come after any other: forwards where a path can begin and
    end so, else backwards.

    Return an edge instead if no path can; None for any edge.
    """
    failed = None if is_any or not edges else edges[0]
    sources, targets = {edge.source for edge in edges}, {edge.target for edge in edges}
    if undirected:
        sources = targets = sources | targets
        order = [Direction.BOTH]
    else:
        order = [Direction.FORWARD] if is_any else [Direction.FORWARD, Direction.BACKWARD]
    for direction in order:
        first, last = (targets, sources) if direction is Direction.BACKWARD else (sources, targets)
        near, far = first & set(ends.near or first), last & set(ends.far or last)
        if ends.is_loop and ends.near is None:
            near = far = near & far
        if near and far:
            return ChosenWays(tuple(Way(edge.name, direction) for edge in edges), _sort(near), _sort(far))
    return failed


def _sort(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
