"""Stored queries as rules: what each row says of two nodes that may be the same thing."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.base.errors import BadInput
from omnigraph.execution.read import Reader, ReadRequest
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot
from omnigraph.sdk.queries.run import invoke_stored


def find_pairs(
    graph: Graph, reader: Reader, result: Snapshot, target: Snapshot, name: str
) -> Sequence[tuple[str, str]]:
    """Run a stored query of one snapshot on another; return the ids of its two columns, row by row.

    The target says what the query is: what is merged cannot change the rule that it is judged by.
    """
    graph.internals.check_sees_all("a stored query that says what is the same")
    with invoke_stored(graph, name):
        query = target.queries.find(name)
        if query.is_mutation:
            raise BadInput(f"stored query {name!r} is a mutation: a rule is a read that returns pairs of ids")
        found = reader.run(result, ReadRequest(query.text, name=name))
    if len(found.columns) != 2:
        raise BadInput(
            f"stored query {name!r} returns {len(found.columns)} columns: a rule returns two, such as "
            "$a.id and $b.id"
        )
    pairs = [tuple(row.values()) for row in found]
    for pair in pairs:
        if not all(isinstance(id_, str) for id_ in pair):
            raise BadInput(
                f"stored query {name!r} returns {pair}: a rule returns two ids, as $a.id gives them"
            )
    return [(one, other) for one, other in pairs]
