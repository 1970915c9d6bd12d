"""Split a condition into its conjuncts, each of which can move to where its variables are known."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.ir.conditions import All, Any, Condition, Not


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """Yield conditions that are all true exactly where the whole is true."""
    match condition:
        case All(terms):
            for term in terms:
                yield from conjuncts(term)
        case Not(Any(terms)):
            for term in terms:
                yield from conjuncts(Not(term))
        case Not(Not(term)):
            yield from conjuncts(term)
        case _:
            yield condition
