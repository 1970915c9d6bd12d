"""The changes of one commit: what it made different from its first parent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.base.errors import ChangeDiffRefusal
from omnigraph.graph.changes.entities import EntityComparison, Order
from omnigraph.graph.changes.model import (
    Cause,
    Change,
    ChangeFilter,
    Json,
    QueriesChange,
    SchemaChange,
)
from omnigraph.graph.changes.paging import ChangeStream, PageBudget, kept
from omnigraph.graph.changes.tokens import seal, unseal
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.opening import Core

_KIND = "commit page token"


@dataclass(frozen=True)
class CommitChanges:
    """A page of a commit's changes; `next_page_token` is None on the last one."""

    cause: Cause
    schema: SchemaChange | None
    """Comes with the first page."""
    changes: tuple[Change, ...]
    next_page_token: str | None
    queries: QueriesChange | None = None
    """Other stored queries; comes with the first page."""

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def to_json(self) -> Json:
        """Return the page as JSON data."""
        data: Json = {"cause": self.cause.to_json()}
        if self.schema is not None:
            data["schema"] = self.schema.to_json()
        if self.queries is not None:
            data["queries"] = self.queries.to_json()
        data["changes"] = [change.to_json() for change in self.changes]
        return data if self.next_page_token is None else {**data, "next_page_token": self.next_page_token}


def commit_changes(
    core: Core,
    record: CommitRecord,
    only: ChangeFilter,
    limit: int | None = None,
    max_bytes: int | None = None,
    page_token: str | None = None,
) -> CommitChanges:
    """Return what a commit changed: nodes before edges, then by type and id."""
    budget = PageBudget.of(limit, max_bytes)
    if record.parent is None:
        raise ChangeDiffRefusal(
            f"commit {record.commit} is the graph's first: there is nothing that it could differ from",
            reason="parentless_commit",
            commit=record.commit,
        )
    bound = {"graph": core.truth.stamp.graph_id, "commit": record.commit, "filter": only.digest()}
    passed = unseal(page_token, _KIND, bound, ["passed"])["passed"] if page_token is not None else 0
    before = core.truth.chains.at(record.parent)
    stream = kept.take(core, page_token)
    comparison = comparison_of(core, before, record, only).check_types()
    stream = stream or ChangeStream(comparison.stream(passed), passed)
    changes = stream.fill(budget)
    token = None
    if stream.peek() is not None:
        token = seal(_KIND, bound, {"passed": stream.passed})
        kept.put(core, token, stream)
    schema = schema_change(core, before, record) if page_token is None else None
    queries = queries_change(core, before, record) if page_token is None else None
    return CommitChanges(Cause.of(record), schema, changes, token, queries)


def comparison_of(
    core: Core, before: CommitRecord | None, record: CommitRecord, only: ChangeFilter
) -> EntityComparison:
    """Return what a commit is compared with."""
    return EntityComparison(core, before, record, only, Order.COMMIT)


def schema_change(core: Core, before: CommitRecord | None, record: CommitRecord) -> SchemaChange | None:
    """Return the change of the schema that a commit made."""
    if before is not None and same_schema(before.schema, record.schema):
        return None
    known = core.schemas.get(before.schema) if before is not None else None
    return SchemaChange.between(known, core.schemas.get(record.schema))


def queries_change(core: Core, before: CommitRecord | None, record: CommitRecord) -> QueriesChange | None:
    """Return the change of the stored queries that a commit made."""
    old = before.queries if before is not None else ""
    if same_schema(old, record.queries):
        return None
    return QueriesChange.between(core.schemas.queries(old), core.schemas.queries(record.queries))
