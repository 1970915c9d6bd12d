"""A pinned, read-only view of a graph at one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from omnigraph.base.errors import CorruptState, NotFound
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.embedding.embedder import Embedder
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.opening import Core
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables.table import Table

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate


@dataclass(frozen=True, slots=True)
class TableInfo:
    """One table of a snapshot: its key (`node:Person`), its rows, and its own version number."""

    key: str
    rows: int
    version: int


class Snapshot:
    """The graph as it was at one commit. It never changes, whatever happens to the branch."""

    def __init__(
        self,
        core: Core,
        record: CommitRecord,
        branch: str,
        policy: Gate | None = None,
        actor: str | None = None,
        judged_as: str | None = None,
    ) -> None:
        self.core = core
        """What the handles of its graph share, as its reader sees it."""
        self._record = record
        self.branch = branch
        self.policy = policy
        """What its reader may see; None where everything may be seen."""
        self.actor = actor
        """Who reads it."""
        self.judged_as = branch if judged_as is None else judged_as
        """The branch whose rules let it be read: one that holds the commit."""

    @property
    def access(self) -> ActorAccess | None:
        """What its reader may see of the graph's history; None without a policy."""
        return None if self.policy is None else ActorAccess(self.core.truth, self.policy, self.actor)

    @property
    def commit_id(self) -> str:
        """The commit that this is a view of."""
        return self._record.commit

    @property
    def version(self) -> int:
        """The commit's number on its branch."""
        return self._record.seq

    @property
    def record(self) -> CommitRecord:
        """The commit's record."""
        return self._record

    @property
    def commit(self) -> Commit:
        """The commit itself."""
        return self.core.commit_of(self.record)

    @property
    def tables(self) -> list[TableInfo]:
        """All tables, sorted by key."""
        hides = self.namespace.restriction
        return [
            TableInfo(key, entry.rows if hides(key) is None else self.table(key).count(), entry.pin.version)
            for key, entry in self.record.by_key().items()
        ]

    @property
    def distinct(self) -> dict[str, Mapping[str, int]]:
        """How many values columns were thought to have when their table was last optimized, by table key.

        What is known of tables of which something is hidden would tell of that, too, and is left out.
        """
        hides = self.namespace.restriction
        return {
            entry.key: entry.distinct
            for entry in self.record.tables.values()
            if entry.distinct and hides(entry.key) is None
        }

    @property
    def catalog(self) -> Catalog:
        """The compiled schema at this commit."""
        return self.core.catalog_at(self._record)

    @property
    def schema_source(self) -> str:
        """The text of the schema at this commit."""
        return self.core.schemas.get(self.record.schema).source

    @property
    def queries(self) -> QuerySet:
        """The stored queries at this commit, by name."""
        return self.core.schemas.queries(self.record.queries)

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        return self.core.embedder

    def table(self, key: str) -> Table:
        """Open one table for reading, by the name that it had at this commit or that its type has now."""
        known = self.record.by_key()
        name = key if key in known else self._former_key(key)
        if name is None:
            raise NotFound(f"there is no table {key!r} at commit {self.commit_id}", table_key=key)
        return self.core.tables.get(self.namespace, name)

    def _former_key(self, key: str) -> str | None:
        """Return the key that a type of the branch's newest schema had at this commit, found by identity."""
        try:
            head = self.core.truth.state(self.branch).head
        except (NotFound, CorruptState):
            return None
        table = self.core.schemas.get(head.schema).catalog.table(key)
        entry = self.record.tables.get(table_identity(table)) if table is not None else None
        return entry.key if entry is not None else None

    @cached_property
    def namespace(self) -> SnapshotNamespace:
        """The tables as the reader of this snapshot sees them, by their keys; Lance gets whole ones only."""
        return self.core.view(self.record)

    @cached_property
    def sight(self) -> str:
        """A hash of what its reader sees; empty when that is everything."""
        rules = self.core.rules_at(self._record)
        return "" if rules is None else rules.digest

    @property
    def sees_all(self) -> bool:
        """Whether its reader sees everything."""
        return self.core.sight is None or not self.sight

    @property
    def view_id(self) -> str:
        """What tells this view from those of other commits, and of those who see other things of this one."""
        return self._record.commit if self.sees_all else f"{self._record.commit}?{self.sight}"

    def __repr__(self) -> str:
        return f"Snapshot(branch={self.branch!r}, version={self.version}, commit={self.commit_id})"
