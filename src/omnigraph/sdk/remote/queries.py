"""The stored queries of a served graph."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from omnigraph.base.choices import SchemaMode
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery, unknown_query_error
from omnigraph.compiler.stored.read import from_json, read_queries
from omnigraph.execution.result import Result
from omnigraph.execution.write.mutate import Mutation
from omnigraph.graph.write.keys import check_key
from omnigraph.sdk.queries.files import read_query_files
from omnigraph.sdk.queries.handle import QueriesApply, QueriesHandle, check_names, desire_queries
from omnigraph.sdk.remote.reads import mark_params, read_mutation, read_result, where_of
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.wire.media import ARROW
from omnigraph.wire.values import decode


class RemoteQueries:
    """The stored queries at the head of a handle's branch."""

    stands_for = QueriesHandle

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def validate(
        self, source: Any, *, branch: str | None = None, snapshot: Any = None
    ) -> Sequence[StoredQuery]:
        """Return the queries in a folder, files or texts, checked against the schema; nothing is stored."""
        texts = read_query_files(source)
        # Whether a query fits follows from the schema alone: only that has to be asked for.
        found = read_queries(texts, sum(len(text.encode(errors="replace")) for text in texts.values()))
        told = self._transport.ask("/schema", **where_of(branch, snapshot))
        found.check(codec.from_json(told["catalog"]))
        return [*found.values()]

    def list(self, *, branch: str | None = None, snapshot: Any = None) -> list[StoredQuery]:
        """Return the stored queries in the order of their names."""
        return [*ask_queries(self._transport, where_of(branch, snapshot)).values()]

    def show(self, name: str, *, branch: str | None = None, snapshot: Any = None) -> StoredQuery:
        """Return one stored query: text, kind, description, parameters."""
        return ask_queries(self._transport, where_of(branch, snapshot)).find(name)

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
        """Store the queries of a folder of `.gq` files, of files, or of texts by name, in one commit."""
        desire_queries(QuerySet(), mode)
        body = {"files": read_query_files(source), "mode": mode, "branch": branch}
        return self._write({**body, "message": message, "metadata": metadata}, idempotency_key)

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
        body = {"remove": check_names(names), "branch": branch, "message": message, "metadata": metadata}
        return self._write(body, idempotency_key)

    def _write(self, body: Mapping[str, Any], key: str | None) -> QueriesApply:
        return decode(QueriesApply, self._transport.write("/queries", body, key))  # type: ignore[no-any-return]


def ask_queries(transport: Transport, where: Mapping[str, Any]) -> QuerySet:
    """Return the stored queries of a branch or snapshot."""
    return from_json(transport.ask("/queries", **where, texts=True)["queries"])


def ask_stored(
    transport: Transport,
    name: str,
    params: Any,
    where: Mapping[str, Any],
    given: Mapping[str, Any],
    expect_mutation: bool | None = None,
    key: str | None = None,
    if_commit: str | None = None,
) -> Result | Mutation:
    """Run a stored query; the form of the answer says which kind it is."""
    if not isinstance(name, str):
        raise unknown_query_error(name, ())
    if key is not None:
        check_key(key)
        expect_mutation = True if expect_mutation is None else expect_mutation
    body = {"params": mark_params(params), **where, **given, "expect_mutation": expect_mutation}
    answer = transport.answer(f"/queries/{quote(name, safe='')}", body, {"Accept": ARROW}, key, if_commit)
    if answer.media_type == ARROW:
        return read_result(answer.content)
    return read_mutation(json.loads(answer.content))
