"""Whether what a read looks for are regular expressions, before anything is read."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.compiler.ir.conditions import TextMatches
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Constant
from omnigraph.execution.patterns import find_pattern
from omnigraph.execution.plan.used_variables import parts_of


def check_patterns(query: ReadQuery) -> None:
    """Raise BadInput if a bound read has a pattern that is not a regular expression."""
    for item in parts_of(query, TextMatches):
        if isinstance(item.pattern, Constant) and item.pattern.value is not None:
            # Arrow compiles no pattern for an array without a value.
            find_pattern(pa.array([""], pa.string()), str(item.pattern.value))
