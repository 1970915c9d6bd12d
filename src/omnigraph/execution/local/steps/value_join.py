"""Joins of rows with nodes by an equal value; nodes are grouped by value once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import conditions as ir
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.frame import NULL, Frame, Positions
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.pushable import join_sides


class ValueJoin:
    """The nodes of a variable by one of their values; NULL is equal to nothing."""

    def __init__(self, condition: ir.Condition, slot: int, nodes: Positions, values: Values) -> None:
        """Take the condition that equates a value of these nodes with one of another variable."""
        sides = join_sides(condition, slot)
        assert sides is not None
        mine, self._other = sides
        self._values = values
        self._nodes = nodes
        present = values.array(mine, Frame(len(nodes), {slot: nodes}))
        self._distinct = pc.unique(present.drop_null())
        numbers = _numbers(present, self._distinct)
        kept = np.flatnonzero(numbers != NULL)
        self._lists = Neighbours.of(numbers[kept], nodes[kept], len(self._distinct))

    def counts(self, frame: Frame) -> Positions:
        """Return how many nodes each row is joined with."""
        return self._lists.degrees[self._of(frame)]

    def matching(self, frame: Frame) -> tuple[Positions, Positions]:
        """Return pairs of a row and a node with equal values."""
        return self._lists.expand(self._of(frame))

    def _of(self, frame: Frame) -> Positions:
        return _numbers(self._values.array(self._other, frame), self._distinct)


def _numbers(values: pa.Array, distinct: pa.Array) -> Positions:
    """Return the index of each value in the distinct ones, -1 if it is not among them."""
    found = pc.index_in(values, value_set=distinct, skip_nulls=True).fill_null(NULL)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
