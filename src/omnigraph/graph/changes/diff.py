"""The difference of any two commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from omnigraph.base.notebook import SHOWN_ROWS, html_table
from omnigraph.graph.changes.commit import queries_change
from omnigraph.graph.changes.entities import EntityComparison, Order
from omnigraph.graph.changes.model import Change, ChangeFilter, Json, QueriesChange, SchemaChange
from omnigraph.graph.changes.paging import ChangeStream, PageBudget, kept
from omnigraph.graph.changes.tokens import seal, unseal
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.opening import Core

_KIND = "diff page token"


@dataclass(frozen=True)
class DiffPage:
    """A part of a difference; `next_page_token` is None at the end."""

    changes: tuple[Change, ...]
    next_page_token: str | None

    def to_json(self) -> Json:
        """Return the page as JSON data."""
        changes = [change.to_json() for change in self.changes]
        return {"changes": changes, "next_page_token": self.next_page_token}


@dataclass(frozen=True)
class Diff:
    """What leads from one commit to another. Iterating reads as it goes; nothing is read before."""

    comparison: EntityComparison

    @property
    def from_commit(self) -> str:
        """The commit that the difference starts from."""
        assert self.comparison.before is not None
        return self.comparison.before.commit

    @property
    def to_commit(self) -> str:
        """The commit that it leads to."""
        return self.comparison.after.commit

    @cached_property
    def schema(self) -> SchemaChange | None:
        """The change of the schema; None when both commits have the same."""
        before, after = self.comparison.before, self.comparison.after
        assert before is not None
        if same_schema(before.schema, after.schema):
            return None
        schemas = self.comparison.core.schemas
        return SchemaChange.between(schemas.get(before.schema), schemas.get(after.schema))

    @cached_property
    def queries(self) -> QueriesChange | None:
        """The change of the stored queries; None when both commits have the same."""
        return queries_change(self.comparison.core, self.comparison.before, self.comparison.after)

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many changes there are, by table key and by insert, update and delete; reads no images."""
        return self.comparison.counts()

    @property
    def total(self) -> int:
        """How many changes there are. (Not `len`, which `list(diff)` would ask for first.)"""
        return sum(count for counts in self.counts.values() for count in counts.values())

    @property
    def changes(self) -> list[Change]:
        """All changes: edges before nodes, then by type name and id."""
        return list(self)

    def __iter__(self) -> Iterator[Change]:
        return self.comparison.stream()

    def __repr__(self) -> str:
        return f"Diff(from {self.from_commit} to {self.to_commit})"

    def _repr_html_(self) -> str:
        """Return the first changes as a table, for notebooks."""
        rows = [(item.op, item.kind, item.type_name, item.id) for item in islice(self, SHOWN_ROWS + 1)]
        more = f", the first {SHOWN_ROWS} changes are shown" if len(rows) > SHOWN_ROWS else ""
        schema = ", with another schema" if self.schema is not None else ""
        schema += ", with other stored queries" if self.queries is not None else ""
        note = f"from commit {self.from_commit} to {self.to_commit}{schema}{more}"
        return html_table(("change", "kind", "type", "id"), rows, note)

    def __bool__(self) -> bool:
        return self.schema is not None or self.queries is not None or next(iter(self), None) is not None

    def page(
        self, limit: int | None = None, page_token: str | None = None, max_bytes: int | None = None
    ) -> DiffPage:
        """Return the next part, of at most `limit` changes; the token of the part before continues it."""
        budget = PageBudget.of(limit, max_bytes)
        bound = {
            "graph": self.comparison.core.truth.stamp.graph_id,
            "pair of commits": [self.from_commit, self.to_commit],
            "filter": [self.comparison.only.digest(), self.comparison.images],
        }
        passed = unseal(page_token, _KIND, bound, ["passed"])["passed"] if page_token is not None else 0
        stream = kept.take(self.comparison.core, page_token)
        stream = stream or ChangeStream(self.comparison.stream(passed), passed)
        changes = stream.fill(budget)
        if stream.peek() is None:
            return DiffPage(changes, None)
        token = seal(_KIND, bound, {"passed": stream.passed})
        kept.put(self.comparison.core, token, stream)
        return DiffPage(changes, token)


def diff(
    core: Core, before: CommitRecord, after: CommitRecord, only: ChangeFilter, images: bool = True
) -> Diff:
    """Return what leads from one commit to another, of any branches."""
    return Diff(EntityComparison(core, before, after, only, Order.DIFF, images).check_types())
