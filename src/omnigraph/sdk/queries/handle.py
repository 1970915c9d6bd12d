"""`g.queries`: the stored queries at the head of a handle's branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from omnigraph.base.choices import SchemaMode
from omnigraph.base.errors import BadInput
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery
from omnigraph.compiler.stored.read import check_size, read_queries
from omnigraph.graph.handle import Graph
from omnigraph.graph.stored_queries.application import Desire, QueriesApplication
from omnigraph.sdk.managed import refuse_managed_graph
from omnigraph.sdk.queries.files import read_query_files
from omnigraph.sdk.queries.run import (
    choose_snapshot,
    find_query,
    invoke_stored,
    queries_of,
    show_callable,
)


@dataclass(frozen=True, slots=True)
class QueriesApply:
    """What became of the stored queries; not `applied` when they were the same."""

    applied: bool
    commit_id: str | None
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


class QueriesHandle:
    """The stored queries at the head of a handle's branch."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._internals = graph.internals

    def validate(
        self, source: Any, *, branch: str | None = None, snapshot: Any = None
    ) -> Sequence[StoredQuery]:
        """Return the queries in a folder, files or texts, checked against the schema; nothing is stored."""
        found = read_queries(read_query_files(source), self._graph.settings.stored_query_bytes)
        found.check(choose_snapshot(self._graph, branch, snapshot).catalog)
        return [*found.values()]

    def list(self, *, branch: str | None = None, snapshot: Any = None) -> list[StoredQuery]:
        """Return the stored queries in the order of their names."""
        return [*self._set(branch, snapshot).values()]

    def show(self, name: str, *, branch: str | None = None, snapshot: Any = None) -> StoredQuery:
        """Return one stored query: text, kind, description, parameters."""
        with invoke_stored(self._graph, name):
            return find_query(self._graph, choose_snapshot(self._graph, branch, snapshot), name)

    def apply(
        self,
        source: Any,
        *,
        mode: SchemaMode = "replace",
        branch: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> QueriesApply:
        """Store the queries of a folder of `.gq` files, of files, or of texts by name, in one commit.

        They must fit the schema. With mode `replace` they are all that there is then; with mode `extend` they
        are added, and replace those of the same names.
        """
        given = read_queries(read_query_files(source), self._graph.settings.stored_query_bytes)
        return self._commit(desire_queries(given, mode), branch, message, idempotency_key, metadata)

    def remove(
        self,
        names: str | Sequence[str],
        *,
        branch: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> QueriesApply:
        """Remove stored queries, each of which must be there, in one commit."""
        gone = check_names(names)
        return self._commit(lambda there: there.without(gone), branch, message, idempotency_key, metadata)

    def _set(self, branch: str | None, snapshot: Any) -> QuerySet:
        return show_callable(
            self._graph, queries_of(self._graph, choose_snapshot(self._graph, branch, snapshot))
        )

    def _commit(
        self,
        desire: Desire,
        branch: str | None,
        message: str | None,
        key: str | None,
        metadata: Mapping[str, str] | None,
    ) -> QueriesApply:
        self._internals.check_allowed("change", self._internals.resolve_branch(branch))
        refuse_managed_graph(self._graph, "stored queries")
        most = self._graph.settings.stored_query_bytes
        work = QueriesApplication(partial(_desire_bounded, desire, most), self._graph.schemas)
        published = self._graph.commit_work(
            work, branch, message, idempotency_key=key, metadata=metadata, durable=True
        )
        if published is None:
            return QueriesApply(False, None)
        told: Any = work.answer() if work.names is not None else published.answer
        return QueriesApply(True, published.commit, **told)


def desire_queries(given: QuerySet, mode: str) -> Desire:
    """Return what makes the queries that a branch is to have of those that it has."""
    if mode not in get_args(SchemaMode):
        raise BadInput(f"mode is {mode!r}: use one of {', '.join(get_args(SchemaMode))}")
    return (lambda there: given) if mode == "replace" else (lambda there: there.extend(given))


def _desire_bounded(desire: Desire, most_bytes: int, there: QuerySet) -> QuerySet:
    after = desire(there)
    check_size(after.texts.values(), most_bytes)
    return after


def check_names(names: Any) -> list[str]:
    """Return the names that a caller gave, as a list."""
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, list | tuple) or not given or not all(isinstance(name, str) for name in given):
        raise BadInput(f"names are {names!r}: give the name of a stored query, or a list of names")
    return [*given]
