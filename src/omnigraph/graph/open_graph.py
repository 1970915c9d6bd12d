"""What every operation on an open graph stands on: its branch, who is working, states and snapshots."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from omnigraph.base.errors import PolicyDenied
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.embedding.embedder import Embedder
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.internals import Internals
from omnigraph.graph.manifest.record import CommitRecord, storable
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.opening import Core
from omnigraph.graph.revisions import find_revision
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.integrity.blob_sources import BlobSources
from omnigraph.graph.write.work import WriteGuard

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate


def refuse_to_write(internals: Internals) -> WriteGuard | None:
    """Refuse to write where an actor does not see all data: a handle that can knows who judges that."""
    raise PolicyDenied(
        "the policy has rules about data: write through a `Graph`", actor=internals.graph.actor
    )


class OpenGraph:
    """An open graph, without its verbs. Safe to share between threads."""

    def __init__(
        self,
        core: Core,
        branch: str = MAIN,
        read_only: bool = False,
        actor: str | None = None,
        policy: Gate | None = None,
        make_guard: Callable[[Internals], WriteGuard | None] = refuse_to_write,
    ) -> None:
        self.policy = policy
        """What this handle's actor may do; None where everything may be done."""
        self.branch = normalise(branch)
        self.read_only = read_only
        self.actor = storable("actor", actor, core.settings.commit_text_bytes)
        self.internals = Internals(self, core, make_guard)
        """For the parts of this package."""
        self.declared_queries: QuerySet | None = None
        """The stored queries that a cluster declares, in place of those that the graph holds."""
        self.blob_sources: BlobSources | None = None
        """From where a cluster lets blobs come, in place of what the environment says."""

    @property
    def uri(self) -> str:
        """Where the graph is stored."""
        return self.internals.core.truth.store.root_uri

    @property
    def id(self) -> str:
        """The graph's own id, which a copy keeps and a rebuilt graph does not."""
        return self.internals.core.truth.stamp.graph_id

    def snapshot(
        self,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> Snapshot:
        """Return the graph at a branch's head, a commit of any branch, a version of a branch, or a tag.

        With a timestamp it is what the branch said at that moment. `commit` is whatever stands for one: an id
        or its beginning, a branch, a tag, `HEAD~1`.
        """
        return self.internals.pin(branch, commit, version, tag, timestamp)

    def snapshot_of(self, state: BranchState) -> Snapshot:
        """Return the graph at a state of a branch."""
        return Snapshot(self.internals.core, state.head, state.ref.name, self.policy, self.actor)

    def find(self, revision: str) -> CommitRecord:
        """Return the record that a revision stands for: an id, a branch, a tag, `HEAD~1`."""
        return find_revision(self.internals.core.truth, revision, self.branch, self.internals.make_access())

    def close(self) -> None:
        """Let go of opened tables; the handle can still be used and opens them again."""
        self.internals.core.tables.clear()

    def __repr__(self) -> str:
        mode = ", read_only=True" if self.read_only else ""
        return f"Graph({self.uri!r}, branch={self.branch!r}{mode})"

    @property
    def settings(self) -> Settings:
        """The limits and budgets of this handle."""
        return self.internals.core.settings

    @property
    def storage_options(self) -> dict[str, str]:
        """How the storage of this graph is reached, for files beside it."""
        return self.internals.core.truth.store.lance_options()

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, for all handles of this opening."""
        return self.internals.core.embedder

    @property
    def schemas(self) -> Schemas:
        """The stored schemas of the graph."""
        return self.internals.core.schemas

    def catalog_at(self, schema: str) -> Catalog:
        """Return the compiled schema with this address."""
        return self.internals.core.schemas.get(schema).catalog
