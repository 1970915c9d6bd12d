"""The steps of a block by number."""

from __future__ import annotations

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.pattern import Block, Filter, Traverse


def condition_of(block: Block, number: int) -> ir.Condition:
    """Return the condition of a filter."""
    step = block.steps[number]
    assert isinstance(step, Filter)
    return step.condition


def traverse_of(block: Block, number: int) -> Traverse:
    """Return a traversal."""
    step = block.steps[number]
    assert isinstance(step, Traverse)
    return step
