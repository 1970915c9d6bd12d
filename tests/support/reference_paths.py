"""Paths for the reference evaluator: all of them are listed, sorted, and cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from omnigraph.compiler.ir.pattern import AntiJoin, Block, CountJoin, LeftJoin, Traverse
from omnigraph.compiler.ir.values import PathPart, PathValue
from support.reference_graph import MemoryGraph

Key = tuple[str, str]
"""The type and the id of a node or edge."""
Pairs = list[tuple[tuple[Key, Key], Key]]
"""The ends of edges, in the direction in which they are followed, and the edges."""


class BadWeight(Exception):
    """A path is to be short by a property that is NULL or negative in some edge."""


@dataclass(frozen=True)
class Path:
    """A path; `weight` is the sum of its weights, None without any."""

    nodes: tuple[Key, ...]
    edges: tuple[Key, ...]
    weight: Fraction | None = None
    rank: int = 0

    @property
    def quality(self) -> tuple[Any, ...]:
        """What makes one path better than another between the same nodes."""
        steps = tuple(zip(self.nodes[-2::-1], self.edges[::-1], strict=True))
        return 0 if self.weight is None else self.weight, len(self.edges), steps

    def read(self, node: PathValue) -> Any:
        """Return a part of it."""
        match node.part:
            case PathPart.NODES:
                return tuple(key[1] for key in self.nodes)
            case PathPart.EDGES:
                return tuple(key[1] for key in self.edges)
            case PathPart.RANK:
                return self.rank
            case PathPart.COST if self.weight is not None:
                return show_sum(self.weight, node.type.scalar.is_float)
        return len(self.edges)


def show_sum(weight: Fraction, is_float: bool) -> float | int | None:
    """Return a sum of weights, rounded once; None beyond F64 or I64."""
    if not is_float:
        return int(weight) if weight < 2**63 else None
    try:
        return float(weight)
    except OverflowError:
        return None


def find_paths(step: Traverse, pairs: Pairs, graph: MemoryGraph) -> Iterator[tuple[Key, Key, Path]]:
    """Yield the ends of every path of a traversal, and the path."""
    leaving: dict[Key, list[tuple[Key, Key]]] = {}
    for (source, target), edge in pairs:
        leaving.setdefault(source, []).append((target, edge))
    for source in leaving:
        found = (
            reported(source, leaving, step) if step.shortest is None else best(source, leaving, step, graph)
        )
        for path in found:
            yield source, path.nodes[-1], path


def reported(source: Key, leaving: dict[Key, list[tuple[Key, Key]]], step: Traverse) -> Iterator[Path]:
    """Yield, for each node that a breadth-first search reports, the path by which it does."""
    follows = {node: {target for target, _ in edges} for node, edges in leaving.items()}
    near = breadth_first(source, follows, 1, step.high) | {source: 0}
    for target, hop in breadth_first(source, follows, step.low, step.high).items():
        whole = [path for path in walks(source, leaving, near[target]) if path.nodes[-1] == target]
        if near[target] < hop:
            # It was near already, and is reported by a loop.
            loops = [edge for node, edge in leaving[target] if node == target]
            whole = [Path((*path.nodes, target), (*path.edges, edge)) for path in whole for edge in loops]
        yield min(whole, key=lambda path: path.quality)


def walks(source: Key, leaving: dict[Key, list[tuple[Key, Key]]], hops: int) -> list[Path]:
    """Return every path of so many edges from a node that meets no node twice."""
    found = [Path((source,), ())]
    for _ in range(hops):
        found = [
            Path((*path.nodes, target), (*path.edges, edge))
            for path in found
            for target, edge in leaving.get(path.nodes[-1], ())
            if target not in path.nodes
        ]
    return found


def best(
    source: Key, leaving: dict[Key, list[tuple[Key, Key]]], step: Traverse, graph: MemoryGraph
) -> Iterator[Path]:
    """Yield the best paths without a repeated node from a node to each other one."""
    assert step.shortest is not None
    by_target: dict[Key, list[Path]] = {}
    for hops in range(1, step.high + 1):
        for path in walks(source, leaving, hops):
            by_target.setdefault(path.nodes[-1], []).append(weighed(path, step, graph))
    for paths in by_target.values():
        paths.sort(key=lambda path: path.quality)
        for rank, path in enumerate(paths[: step.shortest.count]):
            yield replace(path, rank=rank)


def weighed(path: Path, step: Traverse, graph: MemoryGraph) -> Path:
    """Return a path with the sum of its weights."""
    assert step.shortest is not None
    if step.shortest.weight is None:
        return path
    name = step.shortest.weight.name
    values: list[Any] = [graph.edges[type_name][id].values[name] for type_name, id in path.edges]
    return replace(path, weight=sum(map(Fraction, values), Fraction(0)))


def check_weights(block: Block, graph: MemoryGraph) -> None:
    """Raise BadWeight if an edge that a path may go over has no weight."""
    for step in block.steps:
        if isinstance(step, AntiJoin | LeftJoin | CountJoin):
            check_weights(step.block, graph)
        elif isinstance(step, Traverse) and step.shortest is not None and step.shortest.weight is not None:
            for way in step.ways:
                for edge in graph.edges[way.edge_type].values():
                    weight: Any = edge.values[step.shortest.weight.name]
                    if weight is None or weight < 0:
                        raise BadWeight


def breadth_first(source: Key, follows: dict[Key, set[Key]], low: int, high: int) -> dict[Key, int]:
    """Return the hop number of every node that a search from a source reports."""
    visited, frontier, reported, hop = {source}, [source], dict[Key, int](), 0
    while frontier and hop < high:
        hop += 1
        following: list[Key] = []
        for node in frontier:
            for target in sorted(follows.get(node, ())):
                if target != node and target in visited:
                    continue
                if hop >= low:
                    reported.setdefault(target, hop)
                if target != node:
                    visited.add(target)
                    following.append(target)
        frontier = following
    return reported
