"""What every operation on an open graph stands on: its branch, who is working, states and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from omnigraph.base.choices import refuse_branch_and_snapshot
from omnigraph.base.errors import BadInput, CorruptState, PolicyDenied, ReadOnly
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.embedding.embedder import Embedder
from omnigraph.graph import history
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.manifest.record import CommitRecord, storable, storable_metadata
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.tags import no_tag
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.conflict import branch_gone_error
from omnigraph.graph.revisions import find_revision
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.tags import find_tagged
from omnigraph.graph.write.integrity.blob_sources import BlobSources
from omnigraph.graph.write.keys import check_key
from omnigraph.graph.write.work import CommitRequest, WriteGuard

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate

READ, CHANGE = "read", "change"
"""The actions of who looks at data, and of who writes."""


@dataclass(slots=True)
class CacheAge:
    """How old caches may be; handles that share caches share it."""

    fence: int | None = None
    """The newest cleanup that was seen."""


class OpenGraph:
    """An open graph, without its verbs. Safe to share between threads."""

    def __init__(
        self,
        core: Core,
        branch: str = MAIN,
        read_only: bool = False,
        actor: str | None = None,
        policy: Gate | None = None,
    ) -> None:
        self._whole = core.whole
        """The graph with all that there is, for writers, merges and maintenance."""
        self._core = core.seen_by(policy, actor, READ)
        """The graph as its actor sees it, for every answer."""
        self.policy = policy
        """What this handle's actor may do; None where everything may be done."""
        self.branch = normalise(branch)
        self.read_only = read_only
        self.actor = storable("actor", actor, core.settings.commit_text_bytes)
        self._incarnation: str | None = None
        self._if_commit: str | None = None
        self._key: str | None = None
        self._caches = CacheAge()
        self.declared_queries: QuerySet | None = None
        """The stored queries that a cluster declares, in place of those that the graph holds."""
        self.blob_sources: BlobSources | None = None
        """From where a cluster lets blobs come, in place of what the environment says."""

    @property
    def uri(self) -> str:
        """Where the graph is stored."""
        return self._core.truth.store.root_uri

    @property
    def id(self) -> str:
        """The graph's own id, which a copy keeps and a rebuilt graph does not."""
        return self._core.truth.stamp.graph_id

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
        return self._pin(branch, commit, version, tag, timestamp)

    def _pin(
        self,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
        action: str = "read",
    ) -> Snapshot:
        """Return the graph at a commit, for what an actor wants to do with it."""
        access = self._access(action)
        if access is not None and commit is None and tag is None:
            access.check(self.branch if branch is None else normalise(branch))
        if timestamp is not None:
            if (commit, version, tag) != (None, None, None):
                raise BadInput("give a timestamp, or a commit, version or tag, not both")
            state = self._state(branch)
            record = history.at_time(self._core.truth, state, timestamp)
            return self._view(record, state.ref.name, state.ref.name)
        if commit is not None and (version is not None or branch is not None):
            raise BadInput("give a commit, or a branch with or without a version, not both")
        if tag is not None:
            if (branch, commit, version) != (None, None, None):
                raise BadInput("give a tag, or a branch, commit or version, not both")
            record = find_tagged(self._core.truth, tag)
            if access is not None and not access.sees(record):
                access.check_any()
                raise no_tag(tag.strip())
            return self._view(record, record.branch, None, access)
        try:
            state = self._state(branch)
        except CorruptState:
            name = normalise(branch or self.branch)
            if commit is not None:
                return self._view_revision(commit, access)
            record = history.find_beside_damage(self._core.truth, name, version)
            return self._view(record, record.branch, name)
        if commit is not None:
            return self._view_revision(commit, access)
        record = state.head if version is None else history.at_version(self._core.truth, state, version)
        return self._view(record, state.ref.name, state.ref.name)

    def _view_revision(self, revision: str, access: ActorAccess | None) -> Snapshot:
        record = find_revision(self._core.truth, revision, self.branch, access)
        return self._view(record, record.branch, None, access)

    def _view(
        self, record: CommitRecord, branch: str, judged_as: str | None, access: ActorAccess | None = None
    ) -> Snapshot:
        if judged_as is None and access is not None:
            judged_as = access.find_holder(record.ref, record.branch)
        return Snapshot(self._core, record, branch, self.policy, self.actor, judged_as)

    def _choose_snapshot(
        self, branch: str | None, snapshot: Snapshot | str | None, action: str = "read"
    ) -> Snapshot:
        """Return the snapshot that a caller means, or the head of a branch."""
        refuse_branch_and_snapshot(branch, snapshot)
        if isinstance(snapshot, Snapshot):
            return self._judge(snapshot, action)
        return self._pin(branch, commit=snapshot, action=action)

    def _judge(self, snapshot: Snapshot, action: str = "read") -> Snapshot:
        """Return a snapshot of this graph for what the actor of this handle wants to do with it."""
        access = self._access(action)
        if access is None or snapshot._core is not self._core:
            return snapshot
        if not access.sees(snapshot.record):
            access.check(snapshot.record.branch)
        return self._view(snapshot.record, snapshot.branch, None, access)

    def _access(self, action: str = "read") -> ActorAccess | None:
        """Return what the policy lets this handle's actor see; None without a policy."""
        return None if self.policy is None else ActorAccess(self._core.truth, self.policy, self.actor, action)

    def _refuse_misfit(self, policy: Gate | None = None) -> None:
        """Refuse a policy, this handle's unless given, that names what the graph never had."""
        gate = self.policy if policy is None else policy
        if gate is not None:
            self._whole.policy_names.check(gate)

    def _allow(self, action: str, branch: str | None = None, target: str | None = None) -> None:
        """Raise `PolicyDenied` unless the policy lets this handle's actor do this."""
        if self.policy is not None:
            self.policy.check(self.actor, action, branch=branch, target_branch=target)

    def _allow_handle(self, branch: str) -> None:
        """Raise `PolicyDenied` if this handle's actor may do nothing at all on a branch."""
        policy = self.policy
        if policy is not None and not any(
            policy.allows(self.actor, action, branch=branch) for action in ("change", "export")
        ):
            policy.check(self.actor, "read", branch=branch)

    def _own(self, branch: str | None) -> str:
        """Return the name of a branch, this handle's unless given."""
        return self.branch if branch is None else normalise(branch)

    def snapshot_of(self, state: BranchState) -> Snapshot:
        """Return the graph at a state of a branch."""
        return Snapshot(self._core, state.head, state.ref.name, self.policy, self.actor)

    def find(self, revision: str) -> CommitRecord:
        """Return the record that a revision stands for: an id, a branch, a tag, `HEAD~1`."""
        return find_revision(self._core.truth, revision, self.branch, self._access())

    def close(self) -> None:
        """Let go of opened tables; the handle can still be used and opens them again."""
        self._core.tables.clear()

    def __repr__(self) -> str:
        mode = ", read_only=True" if self.read_only else ""
        return f"Graph({self.uri!r}, branch={self.branch!r}{mode})"

    def _state(self, branch: str | None = None) -> BranchState:
        if branch is not None:
            return self._drop_stale_caches(self._core.truth.state(normalise(branch)))
        state = self._drop_stale_caches(self._core.truth.state(self.branch))
        if self._incarnation is None:
            self._incarnation = state.ref.incarnation
        elif self._incarnation != state.ref.incarnation:
            # A branch made again under the name is not the one that was opened.
            raise branch_gone_error(self.branch)
        return state

    def _drop_stale_caches(self, state: BranchState) -> BranchState:
        """Return a state, having let go of what was read before the newest cleanup: it may be gone."""
        count, known = state.head.fence, self._caches.fence
        if known is not None and count > known:
            self.close()
        self._caches.fence = max(count, known or 0)
        return state

    @property
    def settings(self) -> Settings:
        """The limits and budgets of this handle."""
        return self._core.settings

    @property
    def storage_options(self) -> dict[str, str]:
        """How the storage of this graph is reached, for files beside it."""
        return self._core.truth.store.lance_options()

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, for all handles of this opening."""
        return self._core.embedder

    @property
    def schemas(self) -> Schemas:
        """The stored schemas of the graph."""
        return self._core.schemas

    def catalog_at(self, schema: str) -> Catalog:
        """Return the compiled schema with this address."""
        return self._core.schemas.get(schema).catalog

    def _seen_catalog(self, catalog: Catalog, branch: str | None = None) -> Catalog:
        """Return the schema of a branch as the actor sees it who writes there."""
        if self._core.sight is None:
            return catalog
        rules = self._core.rules_at(self._state(branch).head)
        return catalog if rules is None else self._core.seen_catalogs.get(catalog, rules)

    def _request(
        self,
        branch: str | None,
        message: str | None,
        dry_run: bool,
        key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> CommitRequest:
        """Return who asks for a durable commit of a branch as it stands now."""
        if not dry_run:
            self._must_be_writable()
        ref = self._state(branch).ref
        limit = self.settings.commit_text_bytes
        return CommitRequest(
            ref.name,
            self.actor,
            storable("message", message, limit),
            if_commit=self._if_commit,
            durable=True,
            incarnation=ref.incarnation,
            key=check_key(self._key if key is None else key),
            metadata=storable_metadata(metadata, limit),
            guard=self._guard(),
            blob_sources=self.blob_sources,
        )

    def _guard(self) -> WriteGuard | None:
        """Return who judges what this handle commits; None where everything may be changed."""
        if self._core.sight is None:
            return None
        raise PolicyDenied("the policy has rules about data: write through a `Graph`", actor=self.actor)

    def _sees_all(self, branch: str | None = None) -> bool:
        """Return whether the actor sees all data of a branch."""
        return self._core.sight is None or self._core.rules_at(self._state(branch).head) is None

    def _must_see_all(self, what: str, branch: str | None = None) -> None:
        """Refuse what takes in all data at once, when its actor does not see all of it."""
        if not self._sees_all(branch):
            raise PolicyDenied(
                f"{what} takes in all data, and the policy has rules about data for this actor",
                actor=self.actor,
                branch=self.branch if branch is None else branch,
            )

    def _must_be_writable(self) -> None:
        if self.read_only:
            raise ReadOnly(f"{self!r} was opened for reading: open it with read_only=False to write")
