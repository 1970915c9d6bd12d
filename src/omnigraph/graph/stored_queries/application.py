"""`QueriesApplication`: other stored queries as work for `commit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.write.write_state import WriteBase

Desire = Callable[[QuerySet], QuerySet]
"""From the queries that a branch has to those that it is to have."""


@dataclass(frozen=True, slots=True)
class QueryNames:
    """The names of the queries that differ between two sets."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @staticmethod
    def between(before: QuerySet, after: QuerySet) -> QueryNames:
        """Return what leads from one set to another."""
        return QueryNames(
            tuple(name for name in after if name not in before),
            tuple(name for name in after if name in before and after[name].text != before[name].text),
            tuple(name for name in before if name not in after),
        )


class QueriesApplication:
    """Work for `commit`: a branch gets other stored queries. Those that are new to it must fit its schema."""

    operation = "queries_apply"
    commit_class = CommitClass.LOGICAL
    repeatable = True

    def __init__(self, desire: Desire, schemas: Schemas, checks: bool = True) -> None:
        """Take what makes the new queries of those that are there; `checks` says whether they must fit."""
        self._desire, self._schemas, self._checks = desire, schemas, checks
        self.names: QueryNames | None = None
        """What was changed, once the work is applied."""

    def stage(self, base: WriteBase) -> None:
        """Write nothing ahead."""

    def apply(self, base: WriteBase) -> None:
        """Check what is new and store the set; nothing when it says what is there already."""
        head = base.state.head
        before = self._schemas.queries(head.queries)
        after = self._desire(before)
        self.names = names = QueryNames.between(before, after)
        if after.says_the_same(before):
            return
        if self._checks:
            new = QuerySet.of(after[name] for name in (*names.added, *names.changed))
            new.check(self._schemas.get(head.schema).catalog)
        base.queries = self._schemas.put_queries(after)

    def answer(self) -> Mapping[str, Any]:
        """Return what was changed."""
        names = self.names or QueryNames()
        return {"added": [*names.added], "changed": [*names.changed], "removed": [*names.removed]}
