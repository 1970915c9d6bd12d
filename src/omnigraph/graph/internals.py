"""`graph.internals`: what the parts of this package ask of an open graph, and users do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.base.choices import refuse_branch_and_snapshot
from omnigraph.base.errors import BadInput, BranchInUse, CorruptState, PolicyDenied, ReadOnly
from omnigraph.base.ids import is_ulid
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph import history
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.branches.lifecycle import delete_branch
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.manifest.record import CommitRecord, storable, storable_metadata
from omnigraph.graph.manifest.refs import MAIN
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


FindPairs = Callable[[Snapshot, Snapshot, str], Sequence[tuple[str, str]]]
"""Runs a stored query of the second snapshot on the first; returns the ids of its two columns."""


@dataclass(slots=True)
class CacheAge:
    """How old caches may be; handles that share caches share it."""

    fence: int | None = None
    """The newest cleanup that was seen."""


class GraphHandle(Protocol):
    """Whose internals these are: the object that users hold."""

    policy: Gate | None
    branch: str
    read_only: bool
    actor: str | None
    blob_sources: BlobSources | None

    def close(self) -> None:
        """Let go of what was read; it may be gone."""


class Internals:
    """An open graph as its actor may use it: rights, states, snapshots and requests to commit."""

    def __init__(
        self, graph: GraphHandle, core: Core, make_guard: Callable[[Internals], WriteGuard | None]
    ) -> None:
        self.graph, self._make_guard = graph, make_guard
        self.whole = core.whole
        """The graph with all that there is, for writers, merges and maintenance."""
        self.core = core.seen_by(graph.policy, graph.actor, READ)
        """The graph as its actor sees it, for every answer."""
        self.incarnation: str | None = None
        """The chain of the handle's branch, once it was looked at."""
        self.if_commit: str | None = None
        """The commit that must still be the head when the handle writes."""
        self.idempotency_key: str | None = None
        """The key of what the handle writes, unless another is given."""
        self.caches = CacheAge()
        self.find_pairs: FindPairs | None = None
        """Runs stored queries that find duplicates; only what can run queries has it."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to have them in another process: they are those of a handle that is opened again."""
        return getattr, (self.graph, "internals")

    def check_allowed(self, action: str, branch: str | None = None, target: str | None = None) -> None:
        """Raise `PolicyDenied` unless the policy lets this handle's actor do this."""
        if self.graph.policy is not None:
            self.graph.policy.check(self.graph.actor, action, branch=branch, target_branch=target)

    def check_any_allowed(self, branch: str) -> None:
        """Raise `PolicyDenied` if this handle's actor may do nothing at all on a branch."""
        policy = self.graph.policy
        if policy is not None and not any(
            policy.allows(self.graph.actor, action, branch=branch) for action in ("change", "export")
        ):
            policy.check(self.graph.actor, "read", branch=branch)

    def check_merge(self, source: str, into: str, dry_run: bool) -> None:
        """Raise `PolicyDenied` unless a branch may be merged; who may propose it may see what it does."""
        if dry_run:
            self.check_allowed("read", into)
        self.check_allowed("read", source)
        policy, actor = self.graph.policy, self.graph.actor
        may_propose = policy is not None and policy.allows(
            actor, "propose", branch=source, target_branch=into
        )
        if not (dry_run and may_propose):
            self.check_allowed("branch_merge", source, into)

    def make_access(self, action: str = "read") -> ActorAccess | None:
        """Return what the policy lets this handle's actor see; None without a policy."""
        policy = self.graph.policy
        return None if policy is None else ActorAccess(self.core.truth, policy, self.graph.actor, action)

    def find_condition(self, revision: str | None) -> str | None:
        """Return the id of the commit that must still be the head, which a caller may name in any way."""
        if revision is None or is_ulid(revision):
            return revision
        return find_revision(self.core.truth, revision, self.graph.branch, self.make_access()).commit

    def check_writable(self) -> None:
        """Refuse to write through a handle that was opened for reading."""
        if self.graph.read_only:
            raise ReadOnly(f"{self.graph!r} was opened for reading: open it with read_only=False to write")

    def sees_all(self, branch: str | None = None) -> bool:
        """Return whether the actor sees all data of a branch."""
        return self.core.sight is None or self.core.rules_at(self.read_state(branch).head) is None

    def check_sees_all(self, what: str, branch: str | None = None) -> None:
        """Refuse what takes in all data at once, when its actor does not see all of it."""
        if not self.sees_all(branch):
            raise PolicyDenied(
                f"{what} takes in all data, and the policy has rules about data for this actor",
                actor=self.graph.actor,
                branch=self.graph.branch if branch is None else branch,
            )

    def sees_all_branches(self) -> bool:
        """Return whether the actor sees all data of every branch."""
        return self.core.sight is None or all(self.sees_all(ref.name) for ref in self.core.truth.live_refs())

    def check_sees_all_branches(self, what: str) -> None:
        """Refuse what takes in all branches at once, when its actor does not see all data of each."""
        if self.core.sight is not None:
            for ref in self.core.truth.live_refs():
                self.check_sees_all(what, ref.name)

    def refuse_misfit(self, policy: Gate | None = None) -> None:
        """Refuse a policy, this handle's unless given, that names what the graph never had."""
        gate = self.graph.policy if policy is None else policy
        if gate is not None:
            self.whole.policy_names.check(gate)

    def resolve_branch(self, branch: str | None) -> str:
        """Return the name of a branch, this handle's unless given."""
        return self.graph.branch if branch is None else normalise(branch)

    def read_state(self, branch: str | None = None) -> BranchState:
        """Return the newest state of a branch, this handle's unless given, after one probe."""
        if branch is not None:
            return self._drop_stale_caches(self.core.truth.state(normalise(branch)))
        state = self._drop_stale_caches(self.core.truth.state(self.graph.branch))
        if self.incarnation is None:
            self.incarnation = state.ref.incarnation
        elif self.incarnation != state.ref.incarnation:
            # A branch made again under the name is not the one that was opened.
            raise branch_gone_error(self.graph.branch)
        return state

    def _drop_stale_caches(self, state: BranchState) -> BranchState:
        """Return a state, having let go of what was read before the newest cleanup: it may be gone."""
        count, known = state.head.fence, self.caches.fence
        if known is not None and count > known:
            self.graph.close()
        self.caches.fence = max(count, known or 0)
        return state

    def show_catalog(self, catalog: Catalog, branch: str | None = None) -> Catalog:
        """Return the schema of a branch as the actor sees it who writes there."""
        if self.core.sight is None:
            return catalog
        rules = self.core.rules_at(self.read_state(branch).head)
        return catalog if rules is None else self.core.seen_catalogs.get(catalog, rules)

    def pin(
        self,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
        action: str = "read",
    ) -> Snapshot:
        """Return the graph at a commit, for what an actor wants to do with it."""
        access = self.make_access(action)
        if access is not None and commit is None and tag is None:
            access.check(self.graph.branch if branch is None else normalise(branch))
        if timestamp is not None:
            if (commit, version, tag) != (None, None, None):
                raise BadInput("give a timestamp, or a commit, version or tag, not both")
            state = self.read_state(branch)
            record = history.at_time(self.core.truth, state, timestamp)
            return self._view(record, state.ref.name, state.ref.name)
        if commit is not None and (version is not None or branch is not None):
            raise BadInput("give a commit, or a branch with or without a version, not both")
        if tag is not None:
            if (branch, commit, version) != (None, None, None):
                raise BadInput("give a tag, or a branch, commit or version, not both")
            record = find_tagged(self.core.truth, tag)
            if access is not None and not access.sees(record):
                access.check_any()
                raise no_tag(tag.strip())
            return self._view(record, record.branch, None, access)
        try:
            state = self.read_state(branch)
        except CorruptState:
            name = normalise(branch or self.graph.branch)
            if commit is not None:
                return self._view_revision(commit, access)
            record = history.find_beside_damage(self.core.truth, name, version)
            return self._view(record, record.branch, name)
        if commit is not None:
            return self._view_revision(commit, access)
        record = state.head if version is None else history.at_version(self.core.truth, state, version)
        return self._view(record, state.ref.name, state.ref.name)

    def choose_snapshot(
        self, branch: str | None, snapshot: Snapshot | str | None, action: str = "read"
    ) -> Snapshot:
        """Return the snapshot that a caller means, or the head of a branch."""
        refuse_branch_and_snapshot(branch, snapshot)
        if isinstance(snapshot, Snapshot):
            return self.judge(snapshot, action)
        return self.pin(branch, commit=snapshot, action=action)

    def judge(self, snapshot: Snapshot, action: str = "read") -> Snapshot:
        """Return a snapshot of this graph for what the actor of this handle wants to do with it."""
        access = self.make_access(action)
        if access is None or snapshot.core is not self.core:
            return snapshot
        if not access.sees(snapshot.record):
            access.check(snapshot.record.branch)
        return self._view(snapshot.record, snapshot.branch, None, access)

    def _view_revision(self, revision: str, access: ActorAccess | None) -> Snapshot:
        record = find_revision(self.core.truth, revision, self.graph.branch, access)
        return self._view(record, record.branch, None, access)

    def _view(
        self, record: CommitRecord, branch: str, judged_as: str | None, access: ActorAccess | None = None
    ) -> Snapshot:
        if judged_as is None and access is not None:
            judged_as = access.find_holder(record.ref, record.branch)
        return Snapshot(self.core, record, branch, self.graph.policy, self.graph.actor, judged_as)

    def make_guard(self) -> WriteGuard | None:
        """Return who judges what the handle commits; None where everything may be changed."""
        return None if self.core.sight is None else self._make_guard(self)

    def make_request(
        self,
        branch: str | None,
        message: str | None,
        dry_run: bool,
        key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> CommitRequest:
        """Return who asks for a durable commit of a branch as it stands now."""
        if not dry_run:
            self.check_writable()
        ref = self.read_state(branch).ref
        limit = self.core.settings.commit_text_bytes
        return CommitRequest(
            ref.name,
            self.graph.actor,
            storable("message", message, limit),
            if_commit=self.find_condition(self.if_commit),
            durable=True,
            incarnation=ref.incarnation,
            key=check_key(self.idempotency_key if key is None else key),
            metadata=storable_metadata(metadata, limit),
            guard=self.make_guard(),
            blob_sources=self.graph.blob_sources,
        )

    def delete_branch(self, name: str, seen: BranchState | None = None) -> None:
        """Delete a branch; with a state it must still be that one and have nothing but what it had then."""
        self.check_allowed("branch_delete", target=name)
        self.check_writable()
        if name == self.graph.branch and name != MAIN:
            raise BranchInUse(
                f"branch {name!r} is the one that this handle works on: delete it from another", branch=name
            )
        delete_branch(self.core.truth, name, self.graph.actor, seen)
