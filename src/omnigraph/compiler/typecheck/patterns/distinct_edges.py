"""`match distinct edges`: every traversal has its edge, and no two have the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from omnigraph.compiler.ir.conditions import Any, Comparator, Compare
from omnigraph.compiler.ir.pattern import Block, Filter, Traverse, Variable
from omnigraph.compiler.ir.values import EntityId, EntityType
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.scope import ANONYMOUS, CheckContext


def name_edges(check: CheckContext, clauses: tuple[ast.Clause, ...]) -> tuple[ast.Clause, ...]:
    """Return the clauses with an edge variable for every traversal; report those over several hops."""
    return tuple(_name_edge(check, item) if isinstance(item, ast.Traversal) else item for item in clauses)


def _name_edge(check: CheckContext, node: ast.Traversal) -> ast.Traversal:
    bounds = node.bounds
    if bounds is not None and (bounds.low, bounds.high) != (1, 1):
        message = "a traversal of match distinct edges has exactly one hop"
        check.report("T15", message, bounds.span, "write each hop as a traversal of its own")
        return replace(node, bounds=None)
    if node.path is not None:
        message = "a traversal of match distinct edges has an edge and no path"
        check.report("T26", message, node.path.span, "name the edge, as in $a $e:edge $b")
        return replace(node, path=None)
    if node.edge_variable is not None:
        return node
    return replace(node, edge_variable=ast.VariableReference(ANONYMOUS, node.edge.span))


def tell_edges_apart(check: CheckContext, block: Block) -> Block:
    """Return a block with a filter for each two of its edges that could be the same."""
    slots = [step.edge for step in block.steps if isinstance(step, Traverse)]
    edges = [check.variables[slot] for slot in slots if slot is not None]
    return Block((*block.steps, *_filters(edges)))


def _filters(edges: list[Variable]) -> Iterator[Filter]:
    for one, other in combinations(edges, 2):
        if not set(one.types) & set(other.types):
            continue
        ids = (EntityId(edge.slot, edge.optional) for edge in (one, other))
        differ = Compare(Comparator.NE, *ids)
        if one.more_types or other.more_types:
            types = (EntityType(edge.slot, edge.optional) for edge in (one, other))
            yield Filter(Any((differ, Compare(Comparator.NE, *types))))
        else:
            yield Filter(differ)
