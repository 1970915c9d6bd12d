"""Steps in their simplest form: one filter for each conjunct, and traversals without what cannot match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.pattern import (
    AntiJoin,
    Block,
    CountJoin,
    Direction,
    Filter,
    LeftJoin,
    Step,
    Traverse,
    Variable,
    Way,
)
from omnigraph.compiler.lower.conjuncts import conjuncts


@dataclass(frozen=True, slots=True)
class Simplifier:
    """Simplifies the blocks of one query."""

    variables: tuple[Variable, ...]
    catalog: Catalog

    def block(self, block: Block) -> Block:
        """Split filters into conjuncts, and limit traversals to the hops and edges that are possible."""
        return Block(tuple(found for step in block.steps for found in self._step(step)))

    def _step(self, step: Step) -> Iterator[Step]:
        match step:
            case Filter(condition):
                yield from map(Filter, conjuncts(condition))
            case AntiJoin(block):
                yield AntiJoin(self.block(block))
            case LeftJoin(block, introduced):
                yield LeftJoin(self.block(block), introduced)
            case CountJoin(block, into, exists):
                yield CountJoin(self.block(block), into, exists)
            case Traverse():
                yield self._orient(self._drop_ways(self._cut_hops(step)))
            case _:
                yield step

    def _cut_hops(self, step: Traverse) -> Traverse:
        """Limit the hops of an edge between different node types, which cannot chain, to one."""
        edge = self.catalog.edge(step.edge_type)
        if step.high == 1 or step.more or step.direction is Direction.BOTH:
            return step
        return step if edge is None or edge.source == edge.target else replace(step, high=1)

    def _drop_ways(self, step: Traverse) -> Traverse:
        """Drop the edges of one hop that do not fit its ends, whose types a later clause may narrow."""
        if not step.more or (step.low, step.high) != (1, 1):
            return step
        kept = [way for way in step.ways if self._fits(way, step)] or [step.ways[0]]
        first, *more = kept
        return replace(step, edge_type=first.edge_type, direction=first.direction, more=tuple(more))

    def _orient(self, step: Traverse) -> Traverse:
        """Say which way an edge between different types is followed that may be followed either way.

        Over one hop the types of the ends tell; over several it is two ways, which take turns.
        """
        edge = self.catalog.edge(step.edge_type)
        if step.direction is not Direction.BOTH or step.more or edge is None or edge.source == edge.target:
            return step
        if (step.low, step.high) != (1, 1):
            return replace(step, direction=Direction.FORWARD, more=(Way(edge.name, Direction.BACKWARD),))
        fitting = [
            direction
            for direction in (Direction.FORWARD, Direction.BACKWARD)
            if self._fits(Way(edge.name, direction), step)
        ]
        return replace(step, direction=fitting[0]) if len(fitting) == 1 else step

    def _fits(self, way: Way, step: Traverse) -> bool:
        edge = self.catalog.edge(way.edge_type)
        near, far = self.variables[step.source].types, self.variables[step.target].types
        if edge is None:
            return False
        forward = edge.source in near and edge.target in far
        backward = edge.target in near and edge.source in far
        if way.direction is Direction.BOTH:
            return forward or backward
        return forward if way.direction is Direction.FORWARD else backward
