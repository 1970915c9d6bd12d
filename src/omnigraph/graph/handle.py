"""The object that users hold. Each method is one call into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from omnigraph.base.errors import AlreadyExists, Contention
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.handle_branches import Branches
from omnigraph.graph.handle_commits import Commits
from omnigraph.graph.handle_tags import Tags
from omnigraph.graph.internals import CHANGE, READ, Internals
from omnigraph.graph.manifest.record import CommitClass, storable, storable_metadata
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.open_graph import OpenGraph
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.write.commit import commit
from omnigraph.graph.write.keys import check_key
from omnigraph.graph.write.unnamed import commit_to_fork
from omnigraph.graph.write.work import CommitRequest, CommitWork, WriteGuard

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate
    from omnigraph.storage.public_namespace import PublicNamespace

_MAX_FORK_ATTEMPTS = 3


class Graph(OpenGraph):
    """An open graph: a branch to work on, and who is working. Safe to share between threads."""

    def __init__(
        self,
        core: Core,
        branch: str = MAIN,
        read_only: bool = False,
        actor: str | None = None,
        policy: Gate | None = None,
    ) -> None:
        super().__init__(core, branch, read_only, actor, policy, _guard_data)
        self.branches = Branches(self)
        self.commits = Commits(self)
        self.tags = Tags(self)

    def namespace(self, branch: str | None = None) -> PublicNamespace:
        """Return a read-only Lance namespace of a branch's head, for other tools that read Lance."""
        from omnigraph.storage.public_namespace import PublicNamespace

        pinned = self.snapshot(branch).namespace
        pinned.refuse_restricted()
        return PublicNamespace(pinned)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def commit_work(
        self,
        work: CommitWork,
        branch: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        durable: bool = False,
        from_branch: str | None = None,
        streams: Mapping[str, int] | None = None,
        staged_behind: int | None = None,
        idempotency_key: str | None = None,
        lasting: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> Published | None:
        """Carry out work as one commit of a branch; None when it changed nothing.

        With `from_branch` a branch that does not exist is forked from that one, by this very commit.
        `streams` says which batch of which application this is; one that has landed is `BatchLanded`.
        `staged_behind` is the newest cleanup that was known when files began to be written, when another
        process has begun with them. A write with an idempotency key that was committed before is not made
        again: the first commit is returned. `lasting` work surely takes long.
        `metadata` is noted in the commit beside the message.
        """
        name = self.internals.resolve_branch(branch)
        self._allow_work(work, name)
        self.internals.check_writable()
        incarnation = self.internals.incarnation if branch is None else None
        said = storable("message", message, self.settings.commit_text_bytes)
        request = CommitRequest(
            name,
            self.actor,
            said,
            self.internals.find_condition(self.internals.if_commit if if_commit is None else if_commit),
            durable,
            incarnation,
            streams or {},
            check_key(self.internals.idempotency_key if idempotency_key is None else idempotency_key),
            staged_behind,
            lasting,
            storable_metadata(metadata, self.settings.commit_text_bytes),
            guard=self.internals.make_guard(),
            blob_sources=self.blob_sources,
        )
        truth, settings = self.internals.core.truth, self.internals.core.settings
        tries = 0 if branch is None or from_branch is None else _MAX_FORK_ATTEMPTS
        if tries and not truth.has(name):
            origin = normalise(str(from_branch))
            self.internals.check_allowed("read", origin)
            self.internals.check_allowed("branch_create", origin, name)
        while tries and not truth.has(name):
            with suppress(AlreadyExists):  # somebody else forks it: soon it is a branch like any other
                return commit_to_fork(truth, settings, request, work, normalise(str(from_branch)))
            tries -= 1
            if not (tries or truth.has(name)):
                raise Contention(f"branch {name!r} is being made by others: try again", branch=name)
        return commit(truth, settings, request, work)

    def _allow_work(self, work: CommitWork, branch: str) -> None:
        """Raise `PolicyDenied` unless the policy lets this handle's actor commit such work to a branch."""
        if work.commit_class is not CommitClass.LOGICAL:
            self.internals.check_allowed("admin")
        elif work.operation == "schema_apply":
            self.internals.check_allowed("schema_apply", target=branch)
        else:
            self.internals.check_allowed("change", branch)


def _guard_data(internals: Internals) -> WriteGuard:
    """Return who compares what is committed with what its actor sees and may change."""
    from omnigraph.graph.changes.write_guard import DataGuard

    gate, actor = internals.graph.policy, internals.graph.actor
    return DataGuard(internals.whole, internals.whole.seen_by(gate, actor, READ, CHANGE), actor)
