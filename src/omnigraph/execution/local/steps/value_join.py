"""Joins of rows with nodes by an equal value; nodes are grouped by value once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import conditions as ir
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.frame import NULL, Frame, Positions, distinct
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.pushable import JoinSides, join_sides


class ValueJoin:
    """The nodes of a variable by one of their values, or by several, of which one must be equal."""

    def __init__(self, condition: ir.Condition, slot: int, nodes: Positions, values: Values) -> None:
        """Take the condition that equates values of these nodes with those of other variables."""
        sides = join_sides(condition, slot)
        assert sides is not None
        self._width = int(nodes.max(initial=0)) + 1
        self._terms = [_EqualValues(pair, slot, nodes, values) for pair in sides]

    def counts(self, frame: Frame) -> Positions:
        """Return how many nodes each row is joined with, at most."""
        counts = [term.counts(frame) for term in self._terms]
        return counts[0] if len(counts) == 1 else np.sum(counts, axis=0)

    def equal_pairs(self, frame: Frame) -> tuple[Positions, Positions]:
        """Return pairs of a row and a node with equal values, each pair once."""
        pairs = [term.equal_pairs(frame) for term in self._terms]
        if len(pairs) == 1:
            return pairs[0]
        once = distinct(*(places * self._width + found for places, found in pairs))
        return once // self._width, once % self._width


class _EqualValues:
    """The nodes of a variable by one of their values; NULL is equal to nothing."""

    def __init__(self, sides: JoinSides, slot: int, nodes: Positions, values: Values) -> None:
        mine, self._other = sides
        self._values = values
        present = values.array(mine, Frame(len(nodes), {slot: nodes}))
        self._distinct = pc.unique(present.drop_null())
        numbers = _numbers(present, self._distinct)
        kept = np.flatnonzero(numbers != NULL)
        self._lists = Neighbours.of(numbers[kept], nodes[kept], len(self._distinct))

    def counts(self, frame: Frame) -> Positions:
        return self._lists.degrees[self._of(frame)]

    def equal_pairs(self, frame: Frame) -> tuple[Positions, Positions]:
        return self._lists.expand(self._of(frame))

    def _of(self, frame: Frame) -> Positions:
        return _numbers(self._values.array(self._other, frame), self._distinct)


def _numbers(values: pa.Array, distinct: pa.Array) -> Positions:
    """Return the index of each value in the distinct ones, -1 if it is not among them."""
    found = pc.index_in(values, value_set=distinct, skip_nulls=True).fill_null(NULL)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
