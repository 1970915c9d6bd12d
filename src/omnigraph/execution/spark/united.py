"""Traversals over several edge types or node types: ids are unique within a type only, so nodes have keys."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from pyspark.sql import functions as F

from omnigraph.compiler.ir.pattern import Traverse, Variable
from omnigraph.execution.local.steps.traverse import direction_from
from omnigraph.execution.spark.hops import HOP_COLUMN, search_hops
from omnigraph.execution.spark.tables import FAR, NEAR, Tables, key_of, turn_edges


def relate_united(tables: Tables, step: Traverse, starts: Any, reverse: bool) -> Any:
    """Return the pairs of a traversal, with edge or hop, in the ids of the two variables."""
    ends = [tables.query.variables[slot] for slot in (step.source, step.target)]
    near, far = reversed(ends) if reverse else ends
    related = reduce(lambda one, other: one.unionByName(other), _edges(tables, step, reverse))
    if step.edge is None:
        related = related.distinct()
    if (step.low, step.high) == (1, 1):
        related = related.select("*", F.lit(1).cast("bigint").alias(HOP_COLUMN))
    else:
        keyed = starts if near.more_types else starts.select(key_of(near.type_name, NEAR).alias(NEAR))
        related = search_hops(keyed, related, step.low, step.high, reverse)
    return _leave(_leave(related, NEAR, near), FAR, far)


def _edges(tables: Tables, step: Traverse, reverse: bool) -> Iterator[Any]:
    """Yield the edges of each way from near to far, in keys."""
    for way in step.ways:
        edge = tables.snapshot.catalog.edge(way.edge_type)
        assert edge is not None
        each = step.edge is not None
        yield turn_edges(tables.keys(edge, step.edge), direction_from(way.direction, reverse), each)


def _leave(related: Any, column: str, variable: Variable) -> Any:
    """Return the rows in which a node has a type of its variable, with its id as the variable has it."""
    key = F.col(column)
    if variable.more_types:
        return related.filter(F.substring_index(key, ":", 1).isin(list(variable.types)))
    start = f"{variable.type_name}:"
    kept = related.filter(key.startswith(start))
    return kept.withColumn(column, key.substr(F.lit(len(start) + 1), F.length(key)))
