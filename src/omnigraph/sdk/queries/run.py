"""Running a stored query by its name: a read on a snapshot, a mutation as one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from omnigraph.base.choices import refuse_branch_and_snapshot
from omnigraph.base.errors import BadInput
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery, unknown_query_error
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot

ONLY_READS = {"engine": "auto", "timeout": None, "snapshot": None}
"""What only reads take, with what is the same as not given."""
ONLY_WRITES = {"if_commit": None, "message": None, "idempotency_key": None, "retry": 0, "metadata": None}
"""What only mutations take, likewise."""


class RunsQueries(Protocol):
    """What runs the text of a query; a graph is one."""

    @property
    def query(self) -> Callable[..., Any]:
        """Run a read query."""

    @property
    def mutate(self) -> Callable[..., Any]:
        """Run a mutation query."""


def run_stored(
    graph: Graph,
    runs: RunsQueries,
    name: str,
    params: Mapping[str, Any] | None,
    branch: str | None,
    given: Mapping[str, Any],
    expect_mutation: bool | None,
) -> Any:
    """Run the query that a branch, or a snapshot, has under a name."""
    with invoke_stored(graph, name):
        seen = choose_snapshot(graph, branch, given["snapshot"])
        query = find_query(graph, seen, name)
        check_call(query, given, expect_mutation)
        if query.is_mutation:
            options = {option: given[option] for option in ONLY_WRITES}
            return runs.mutate(query.text, params, name=query.name, branch=branch, **options)
        options = {option: given[option] for option in ("engine", "timeout")}
        return runs.query(query.text, params, name=query.name, snapshot=seen, **options)


@contextmanager
def invoke_stored(graph: Graph, name: str) -> Iterator[None]:
    """Let what is done in the block be done by a stored query, for those who may call it.

    To all others it is not there.
    """
    if graph.policy is None or not isinstance(name, str):
        yield
        return
    from omnigraph.policy.invocation import invoke_as

    if not graph.policy.allows(graph.actor, "invoke_query", query=name):
        raise unknown_query_error(name, ())
    with invoke_as(name):
        yield


def find_query(graph: Graph, seen: Snapshot, name: str) -> StoredQuery:
    """Return a stored query; one that the actor may not call is not there."""
    found = show_callable(graph, queries_of(graph, seen))
    if found.get(name) is None:
        raise unknown_query_error(name, found)
    return found[name]


def show_callable(graph: Graph, queries: QuerySet) -> QuerySet:
    """Return the queries that the actor of a handle may call."""
    gate = graph.policy
    if gate is None:
        return queries
    return QuerySet.of(
        query for query in queries.values() if gate.allows(graph.actor, "invoke_query", query=query.name)
    )


def choose_snapshot(graph: Graph, branch: str | None, snapshot: Any) -> Snapshot:
    """Return the snapshot that a caller means, or the head of a branch."""
    refuse_branch_and_snapshot(branch, snapshot)
    return snapshot if isinstance(snapshot, Snapshot) else graph.snapshot(branch, commit=snapshot)


def queries_of(graph: Graph, seen: Snapshot) -> QuerySet:
    """Return the stored queries that callers of a graph see: those that a cluster declares, or its own."""
    return seen.queries if graph.declared_queries is None else graph.declared_queries


def check_call(query: StoredQuery, given: Mapping[str, Any], expect_mutation: bool | None) -> None:
    """Refuse a query of another kind than is expected, and options that its kind does not take."""
    kind = "changes the graph" if query.is_mutation else "only reads"
    if expect_mutation is not None and expect_mutation != query.is_mutation:
        wanted = "a mutation" if expect_mutation else "a read"
        raise BadInput(f"stored query {query.name!r} {kind}, and {wanted} was asked for", query=query.name)
    others = ONLY_READS if query.is_mutation else ONLY_WRITES
    wrong = [option for option, default in others.items() if given.get(option, default) != default]
    if wrong:
        raise BadInput(f"stored query {query.name!r} {kind}: leave out {', '.join(wrong)}", query=query.name)
