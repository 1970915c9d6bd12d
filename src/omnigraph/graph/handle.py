"""The object that users hold. Each method is one call into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from omnigraph.base.errors import AlreadyExists, BadInput, BranchInUse, Contention, CorruptState, ReadOnly
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.embedding.embedder import Embedder
from omnigraph.graph import history
from omnigraph.graph.branches.lifecycle import create_branch, delete_branch, refuse_isolated, restore_branch
from omnigraph.graph.branches.listing import list_branches
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.record import CommitRecord, storable
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.conflict import branch_gone_error
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.tags import Tag, create_tag, find_tagged, list_tags, tag_name
from omnigraph.graph.write.commit import commit
from omnigraph.graph.write.keys import check_key
from omnigraph.graph.write.unnamed import commit_to_fork
from omnigraph.graph.write.work import CommitRequest, CommitWork

# A read needs neither: who merges or asks for changes imports them.
if TYPE_CHECKING:
    from omnigraph.graph.changes.commit import CommitChanges
    from omnigraph.graph.merge.rebase import Rebase
    from omnigraph.graph.merge.run import Merge
    from omnigraph.storage.public_namespace import PublicNamespace

_MAX_FORK_ATTEMPTS = 3


class Graph:
    """An open graph: a branch to work on, and who is working. Safe to share between threads."""

    def __init__(
        self, core: Core, branch: str = MAIN, read_only: bool = False, actor: str | None = None
    ) -> None:
        self._core = core
        self.branch = normalise(branch)
        self.read_only = read_only
        self.actor = storable("actor", actor, core.settings.commit_text_bytes)
        self._incarnation: str | None = None
        self._fence: int | None = None
        """The newest cleanup that this handle has seen."""
        self.branches = Branches(self)
        self.commits = Commits(self)
        self.tags = Tags(self)

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
    ) -> Snapshot:
        """Return the graph at a branch's head, a commit of any branch, a version of a branch, or a tag."""
        if commit is not None and (version is not None or branch is not None):
            raise BadInput("give a commit, or a branch with or without a version, not both")
        if tag is not None:
            if (branch, commit, version) != (None, None, None):
                raise BadInput("give a tag, or a branch, commit or version, not both")
            record = find_tagged(self._core.truth, tag)
            return Snapshot(self._core, record, record.branch)
        try:
            state = self._state(branch)
        except CorruptState:
            name = normalise(branch or self.branch)
            record = history.find_beside_damage(self._core.truth, name, commit, version)
            return Snapshot(self._core, record, record.branch)
        if commit is not None:
            record = history.find_commit(self._core.truth, commit)
            return Snapshot(self._core, record, record.branch)
        record = state.head if version is None else history.at_version(self._core.truth, state, version)
        return Snapshot(self._core, record, state.ref.name)

    def namespace(self, branch: str | None = None) -> PublicNamespace:
        """Return a read-only Lance namespace of a branch's head, for other tools that read Lance."""
        from omnigraph.storage.public_namespace import PublicNamespace

        return PublicNamespace(self.snapshot(branch).namespace)

    def close(self) -> None:
        """Let go of opened tables; the handle can still be used and opens them again."""
        self._core.tables.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        count = state.head.fence
        if self._fence is not None and count > self._fence:
            self.close()
        self._fence = max(count, self._fence or 0)
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
    ) -> Published | None:
        """Carry out work as one commit of a branch; None when it changed nothing.

        With `from_branch` a branch that does not exist is forked from that one, by this very commit.
        `streams` says which batch of which application this is; one that has landed is `BatchLanded`.
        `staged_behind` is the newest cleanup that was known when files began to be written, when another
        process has begun with them. A write with an idempotency key that was committed before is not made
        again: the first commit is returned.
        """
        self._must_be_writable()
        name = normalise(branch) if branch is not None else self.branch
        incarnation = self._incarnation if branch is None else None
        said = storable("message", message, self.settings.commit_text_bytes)
        request = CommitRequest(
            name,
            self.actor,
            said,
            if_commit,
            durable,
            incarnation,
            streams or {},
            check_key(idempotency_key),
            staged_behind,
        )
        truth, settings = self._core.truth, self._core.settings
        tries = 0 if branch is None or from_branch is None else _MAX_FORK_ATTEMPTS
        while tries and not truth.has(name):
            with suppress(AlreadyExists):  # somebody else forks it: soon it is a branch like any other
                return commit_to_fork(truth, settings, request, work, normalise(str(from_branch)))
            tries -= 1
            if not (tries or truth.has(name)):
                raise Contention(f"branch {name!r} is being made by others: try again", branch=name)
        return commit(truth, settings, request, work)

    def _request(
        self, branch: str | None, message: str | None, dry_run: bool, key: str | None = None
    ) -> CommitRequest:
        """Return who asks for a durable commit of a branch as it stands now."""
        if not dry_run:
            self._must_be_writable()
        ref = self._state(branch).ref
        said = storable("message", message, self.settings.commit_text_bytes)
        at = ref.incarnation
        return CommitRequest(ref.name, self.actor, said, durable=True, incarnation=at, key=check_key(key))

    def _must_be_writable(self) -> None:
        if self.read_only:
            raise ReadOnly(f"{self!r} was opened for reading: open it with read_only=False to write")


class Branches:
    """The branches of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def list(self) -> list[str]:
        """Return the names of all branches: main first, then by name; the log tells of damaged ones."""
        return list_branches(self._graph._core.truth)

    def create(
        self,
        name: str,
        from_branch: str | None = None,
        *,
        commit: str | None = None,
        tag: str | None = None,
        version: int | None = None,
    ) -> None:
        """Fork a branch; nothing is copied and no commit is made.

        It begins at the head of a branch (main unless given), at a version of that branch, at a commit of any
        branch, or at a tag.
        """
        self._graph._must_be_writable()
        name = normalise(name)
        source = from_branch if from_branch is not None or commit or tag else MAIN
        origin = self._graph.snapshot(source, commit, version, tag)
        if commit is not None or version is not None or tag is not None:
            refuse_isolated(self._graph._core.truth, origin.record)
        create_branch(self._graph._core.truth, name, origin.record, self._graph.actor)

    def restore(self, name: str) -> None:
        """Bring a deleted branch back with its commits; possible until a cleanup has removed them."""
        self._graph._must_be_writable()
        restore_branch(self._graph._core.truth, normalise(name), self._graph.actor)

    def delete(self, name: str) -> None:
        """Delete a branch; `restore` brings it back until a cleanup removes the commits that only it has."""
        self._delete(normalise(name))

    def _delete(self, name: str, merged: BranchState | None = None) -> None:
        self._graph._must_be_writable()
        if name == self._graph.branch and name != MAIN:
            raise BranchInUse(
                f"branch {name!r} is the one that this handle works on: delete it from another", branch=name
            )
        delete_branch(self._graph._core.truth, name, self._graph.actor, merged)

    def merge(
        self,
        source: str,
        into: str = MAIN,
        delete_branch: bool = False,
        strategy: str = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Merge:
        """Bring what a branch has done since its last common commit into another, as one commit.

        Disagreements are a `MergeConflicts` error that carries all of them, and change nothing.
        """
        from omnigraph.graph.merge import run as merging

        options = merging.options(strategy, resolutions)
        request = self._graph._request(into, message, dry_run, idempotency_key)
        done = self._delete if delete_branch else None
        return merging.merge_branch(self._graph._core, normalise(source), request, options, dry_run, done)

    def rebase(
        self,
        name: str,
        onto: str = MAIN,
        strategy: str = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
    ) -> Rebase:
        """Make the commits of a branch again on top of another's head, which the branch then begins after.

        The branch changes as a whole or, with conflicts, not at all. Open handles on it must be opened again.
        A dry run tries every commit and changes nothing, but leaves files that the next cleanup removes.
        """
        from omnigraph.graph.merge import rebase, run

        if dry_run and self._graph.read_only:
            raise ReadOnly(
                "a dry run of a rebase tries each commit on what the one before it made, so it writes files: "
                "open the graph with read_only=False"
            )
        self._graph._must_be_writable()
        options = run.options(strategy, resolutions)
        return rebase.rebase_branch(
            self._graph._core, normalise(name), normalise(onto), self._graph.actor, options, dry_run
        )


class Tags:
    """Names for commits; cleanup keeps what they name for as long as they exist."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def create(self, name: str, commit: str | None = None, branch: str | None = None) -> Tag:
        """Name a commit: the one with this id, or a branch's head (this handle's branch unless given)."""
        self._graph._must_be_writable()
        if commit is not None and branch is not None:
            raise BadInput("give a commit or a branch, not both")
        record = self._graph.snapshot(branch, commit).record
        return create_tag(self._graph._core.truth, name, record, self._graph.actor)

    def list(self) -> list[Tag]:
        """Return all tags, sorted by name; the log tells of damaged ones."""
        return list_tags(self._graph._core.truth)

    def delete(self, name: str) -> None:
        """Remove a name; the next cleanup may drop the commit."""
        self._graph._must_be_writable()
        self._graph._core.truth.tags.delete(tag_name(name))


class Commits:
    """The history of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def list(
        self, branch: str | None = None, limit: int | None = None, actor: str | None = None
    ) -> list[Commit]:
        """Return the commits that a branch's head can reach, newest first, perhaps only one actor's."""
        return history.list_commits(self._graph._core.truth, self._graph._state(branch), limit, actor)

    def changes(
        self,
        id: str,
        *,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        page_token: str | None = None,
    ) -> CommitChanges:
        """Return what a commit made different from its first parent, a page at a time."""
        from omnigraph.graph.changes.commit import commit_changes
        from omnigraph.graph.changes.model import ChangeFilter

        core = self._graph._core
        record = history.find_commit(core.truth, id)
        return commit_changes(core, record, ChangeFilter.of(kinds, types, ops), limit, max_bytes, page_token)

    def show(self, id: str) -> Commit:
        """Return one commit, of any branch."""
        return Commit.of(self._found(id))

    def revert(
        self,
        id: str,
        branch: str | None = None,
        strategy: str = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
    ) -> Merge:
        """Take the change of one commit back from a branch, as a new commit."""
        return self._pick(id, branch, strategy, resolutions, dry_run, message, undo=True)

    def cherry_pick(
        self,
        id: str,
        onto: str | None = None,
        strategy: str = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
    ) -> Merge:
        """Bring the change of one commit, of any branch, to a branch, as a new commit."""
        return self._pick(id, onto, strategy, resolutions, dry_run, message, undo=False)

    def _pick(
        self,
        id: str,
        branch: str | None,
        strategy: str,
        resolutions: Any,
        dry_run: bool,
        message: str | None,
        undo: bool,
    ) -> Merge:
        from omnigraph.graph.merge import run as merging

        options = merging.options(strategy, resolutions)
        picked = self._found(id)
        said = picked.message if message is None else message
        request = self._graph._request(branch, said, dry_run)
        return merging.pick_commit(self._graph._core, picked, request, options, dry_run, undo)

    def _found(self, id: str) -> CommitRecord:
        return history.find_commit(self._graph._core.truth, id)
