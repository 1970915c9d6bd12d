"""The types of the asynchronous twins. Made by `scripts/async_stub.py`."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from omnigraph.base.choices import (
    ChangeOp,
    CombineValues,
    EntityKind,
    ExportFormat,
    FeedEvents,
    LoadMode,
    MergeStrategy,
    OnError,
    ReadEngine,
    SchemaMode,
    SourceFormat,
)
from omnigraph.compiler.catalog.migration.plan import MigrationPlan
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import Column
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery
from omnigraph.embedding.embedder import EmbeddingChoice
from omnigraph.execution.embed.backfill import Backfill
from omnigraph.execution.export.export import Export
from omnigraph.execution.load.run import Load
from omnigraph.execution.plan.explain import Explanation
from omnigraph.execution.result import Result
from omnigraph.execution.write.mutate import Mutation
from omnigraph.graph.backup.progress import Progress as CopyProgress
from omnigraph.graph.backup.run import Backup
from omnigraph.graph.branches.info import BranchInfo
from omnigraph.graph.changes.commit import CommitChanges
from omnigraph.graph.changes.diff import DiffPage
from omnigraph.graph.changes.model import Change, ChangeBlock, QueriesChange, SchemaChange
from omnigraph.graph.entity.history import EntityChange
from omnigraph.graph.history import Commit
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup
from omnigraph.graph.maintenance.optimize.optimize import Optimization, Progress
from omnigraph.graph.maintenance.verify.repair_report import Repair
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.merge.rebase import Rebase
from omnigraph.graph.merge.run import Merge
from omnigraph.graph.proposals.model import Mergeability, Proposal, ProposalPage
from omnigraph.graph.snapshot import Snapshot, TableInfo
from omnigraph.graph.snapshot import Snapshot as Pinned
from omnigraph.graph.tags import Tag
from omnigraph.pipeline.jobs.replay import ReplayWriter
from omnigraph.pipeline.jobs.stream import StreamWriter
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import PolicySource
from omnigraph.sdk.changes import Baseline
from omnigraph.sdk.entities.entities import CombinedNodes
from omnigraph.sdk.entities.entity import EdgeDirection
from omnigraph.sdk.opening import SchemaInput
from omnigraph.sdk.proposals.events import ChangePage
from omnigraph.sdk.queries.handle import QueriesApply
from omnigraph.sdk.schema import SchemaApply
from omnigraph.storage.public_namespace import PublicNamespace

HIDDEN: tuple[str, ...]

class AsyncGraph:
    """An open graph: a branch to work on, and who is working. Safe to share between threads."""

    branch: str
    actor: str | None
    read_only: bool
    branches: AsyncBranches
    changes: AsyncChanges
    commits: AsyncCommits
    entities: AsyncEntities
    id: str
    proposals: AsyncProposals
    queries: AsyncQueries
    schema: AsyncSchema
    tags: AsyncTags
    uri: str

    async def backup(
        self,
        target: str | os.PathLike[str],
        since: str | None = None,
        *,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        storage_options: Mapping[str, str] | None = None,
        progress: CopyProgress | None = None,
        reads_back: bool = True,
    ) -> Backup:
        """Copy the whole graph, or one snapshot of it, to a folder or an `s3://` address.

        Only what the target does not have yet is copied. With `since`, the id of a commit that an earlier
        backup there holds, only what came after that backup is looked at, and the rest is taken from it.
        What was copied is read back and compared, unless `reads_back` is False."""
        ...

    async def blob(
        self,
        entity: EntityKind,
        type: str,
        id: str,
        property: str,
        *,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
    ) -> AsyncBlob:
        """Return a blob of a node or edge: read it in ranges, and without `snapshot`, put or clear it."""
        ...

    async def cleanup(
        self,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        dry_run: bool = False,
        message: str | None = None,
    ) -> Cleanup:
        """Drop old commits and remove files that nothing needs: unfinished writes, deleted branches, drops.

        A commit is dropped when it is not among the `keep` newest of a branch, and older than `older_than`
        (`7d`, a timedelta); what is not given does not count, and with neither all commits stay. The newest
        commit of every branch and what a tag names always stay."""
        ...

    async def close(self) -> None:
        """Drop opened tables and caches of queries; the handle can still be used."""
        ...

    async def diff(
        self,
        from_: Pinned | AsyncSnapshot | str,
        to: Pinned | AsyncSnapshot | str,
        *,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        images: bool = True,
    ) -> AsyncDiff:
        """Return the changes from one branch, commit or snapshot to another; they are read lazily."""
        ...

    async def embed(
        self,
        *,
        branch: str | None = None,
        types: Collection[str] | None = None,
        reembed: bool = False,
        cache: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> Backfill:
        """Compute the missing vectors of `@embed` properties as one commit, or all with `reembed`.

        `types` names types or properties (`Doc.vec`); `cache` is a folder from which a run that was
        interrupted goes on."""
        ...

    async def ensure_indices(
        self, branch: str | None = None, progress: Progress | None = None, *, engine: ReadEngine = "auto"
    ) -> Optimization:
        """Fold new rows into indexes and build declared ones that are missing, in at most one commit."""
        ...

    async def entity(
        self,
        type: str,
        id: str,
        *,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
    ) -> AsyncEntity:
        """Return a node or edge: properties, edges, history, blame; and without `snapshot`, reset it."""
        ...

    async def explain(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        analyze: bool = False,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Explanation:
        """Return the plan of a read query; with `analyze` it is run, and the plan says what each step did."""
        ...

    async def export(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        types: Sequence[str] | None = None,
        format: ExportFormat = "ndjson",
        engine: ReadEngine = "auto",
    ) -> Export | AsyncIterator[dict[str, Any]]:
        """Return the records of a branch or snapshot, in the load format, or write them to a target.

        In process, `ndjson` is one file and `parquet` a folder with a file for each type. On Spark both are
        folders of part files."""
        ...

    async def load(
        self,
        source: Any,
        *,
        mode: LoadMode,
        branch: str | None = None,
        from_branch: str | None = None,
        engine: ReadEngine = "auto",
        format: SourceFormat | None = None,
        mapping: Mapping[str, str] | str | os.PathLike[str] | None = None,
        type: str | None = None,
        on_error: OnError = "fail",
        rejected_to: str | os.PathLike[str] | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Load:
        """Load graph records as one commit: `append` adds, `merge` upserts, `overwrite` replaces types.

        `patch` upserts the given properties only. With `type` the source is columns of that type (a table, a
        data frame, Parquet or CSV files), and `mapping` gives property names by column. The path of a mapping
        file as `mapping` is for rows of any columns: it says which nodes and edges they make. With
        `on_error="quarantine"` wrong records go to a file, with the reasons. The same `idempotency_key` again
        answers with the first commit and loads nothing. `metadata` is noted in the commit."""
        ...

    async def mutate(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        retry: int = 0,
        metadata: Mapping[str, str] | None = None,
    ) -> Mutation:
        """Run a mutation query as one commit; `if_commit` names the commit that must still be the head.

        The same `idempotency_key` again answers with the first commit and changes nothing. When another
        writer changes the rows that an update or delete selects while it runs, it is evaluated anew up to
        `retry` times before it is a conflict. `metadata` is noted in the commit."""
        ...

    async def namespace(self, branch: str | None = None) -> PublicNamespace:
        """Return a read-only Lance namespace of a branch's head, for other tools that read Lance."""
        ...

    async def optimize(
        self, branch: str | None = None, progress: Progress | None = None, *, engine: ReadEngine = "auto"
    ) -> Optimization:
        """Join fragments, fold new rows into indexes and build declared ones, in at most one commit.

        With `engine="spark"` the files are read and written by Spark's executors; `auto` takes them for large
        graphs, when a session runs or is configured."""
        ...

    async def prepare(self, gq: str, *, name: str | None = None) -> Callable[..., Awaitable[Result]]:
        """Check a read query now and return a function that runs it: `p(params)`, on the newest state."""
        ...

    async def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Result:
        """Run a read query on a branch's head, or on a snapshot (or what stands for a commit).

        `timeout` is in seconds. Without `optimise` the steps are taken as they are written: the rows are
        the same, only slower."""
        ...

    async def repair(
        self, confirm: bool = False, *, scrub: bool = False, progress: Progress | None = None
    ) -> Repair:
        """Verify the whole graph and explain what is inconsistent; `confirm` fixes what needs no guess.

        With `scrub` every byte of every file is read; `progress` is called for each."""
        ...

    async def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        if_commit: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        retry: int = 0,
        metadata: Mapping[str, str] | None = None,
        expect_mutation: bool | None = None,
    ) -> Any:
        """Run a stored query: a read gives a Result, a mutation is one commit and gives a Mutation.

        A snapshot is asked with the queries that it has. With `expect_mutation` a query of the other kind is
        refused. What only one of the kinds takes is refused for the other."""
        ...

    async def snapshot(
        self,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> AsyncSnapshot:
        """Return a read-only view of a branch's head, version or past moment, a commit, or a tag."""
        ...

    async def snapshot_of(self, state: BranchState) -> Snapshot:
        """Return the graph at a state of a branch."""
        ...

    async def stream(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        batch_rows: int = 65536,
        timeout: float | None = None,
    ) -> AsyncStream:
        """Run a read query and return its rows as Arrow batches, made while they are asked for."""
        ...

    async def stream_writer(
        self,
        type: str | None = None,
        *,
        mode: LoadMode = "merge",
        app_id: str,
        branch: str | None = None,
        mapping: Mapping[str, str] | None = None,
        on_error: OnError = "fail",
        rejected_to: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> StreamWriter:
        """Return a function for `foreachBatch` of Spark: one micro-batch is one commit, and lands once.

        Without `type` the rows are graph records of any types, as JSON strings in one column. A stream with a
        new checkpoint counts its batches anew and needs another `app_id`. `rejected_to` is a folder."""
        ...

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *raised: object) -> None: ...

class AsyncBranches:
    """The branches of a graph."""

    async def create(
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
        branch, or at a tag."""
        ...

    async def delete(self, name: str, *, if_commit: str | None = None) -> None:
        """Delete a branch; `restore` brings it back until a cleanup removes the commits that only it has.

        `if_commit` names the commit that must still be its head."""
        ...

    async def info(self, name: str | None = None, compared_with: str = MAIN) -> BranchInfo:
        """Describe a branch: where it is, who wrote last, how far it is ahead of another and behind it."""
        ...

    async def list(self) -> list[str]:
        """Return the names of all branches: main first, then by name; the log tells of damaged ones.

        Under a policy only those that may be read."""
        ...

    async def merge(
        self,
        source: str,
        into: str = MAIN,
        delete_branch: bool = False,
        strategy: MergeStrategy = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
        same_as: Any = None,
    ) -> Merge:
        """Bring what a branch has done since its last common commit into another, as one commit.

        `same_as` finds duplicates: `{"type": "Person", "on": ["mail"]}`, or with `"query"` a stored query
        of the target that returns pairs of ids, or a list of such.
        Disagreements are a `MergeConflicts` error that carries all of them, and change nothing."""
        ...

    async def protect(self, name: str = MAIN, *, approvals: int = 1, checks: Sequence[str] = ()) -> None:
        """Let nothing but proposals change a branch, with so many approvals, and these checks passed.

        Checks are names of stored queries that must return no rows on what a merge would make of it."""
        ...

    async def rebase(
        self,
        name: str,
        onto: str = MAIN,
        strategy: MergeStrategy = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        *,
        if_commit: str | None = None,
    ) -> Rebase:
        """Make the commits of a branch again on top of another's head, which the branch then begins after.

        The branch changes as a whole or, with conflicts, not at all. Open handles on it must be opened again.
        A dry run tries every commit and changes nothing, but leaves files that the next cleanup removes.
        `if_commit` names the commit that must still be the branch's head."""
        ...

    async def rename(self, old: str, new: str, *, if_commit: str | None = None) -> None:
        """Give a branch another name; its commits and idempotency keys stay.

        Handles that are open on it must be opened again. A branch that others were forked from cannot be
        renamed before they are gone. `if_commit` names the commit that must still be its head."""
        ...

    async def reset(
        self,
        name: str,
        commit: str,
        *,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Merge:
        """Give a branch the content and schema that a commit has, as a new commit: no history is lost.

        `commit` is an id or its beginning, a branch, a tag, or steps back from one (`HEAD~2`, where HEAD is
        the newest commit of the branch that is reset)."""
        ...

    async def restore(self, name: str, *, if_commit: str | None = None) -> None:
        """Bring a deleted branch back with its commits; possible until a cleanup has removed them.

        `if_commit` names the commit that must have been its head."""
        ...

    async def unprotect(self, name: str = MAIN) -> None:
        """Let writers change a branch directly again."""
        ...

class AsyncCommits:
    """The history of a graph."""

    async def changes(
        self,
        id: str,
        *,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        page_token: str | None = None,
    ) -> CommitChanges:
        """Return what a commit made different from its first parent, a page at a time."""
        ...

    async def cherry_pick(
        self,
        id: str,
        onto: str | None = None,
        strategy: MergeStrategy = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Merge:
        """Bring the change of one commit, of any branch, to a branch, as a new commit."""
        ...

    async def list(
        self,
        branch: str | None = None,
        limit: int | None = None,
        actor: str | None = None,
        *,
        start: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> list[Commit]:
        """Return the commits that a branch's head, or the commit `start`, can reach, newest first.

        With `actor` only those of one actor; with `where` only those whose metadata has these values."""
        ...

    async def revert(
        self,
        id: str | None = None,
        branch: str | None = None,
        strategy: MergeStrategy | None = None,
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
        *,
        actor: str | None = None,
        since: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Merge:
        """Take the change of one commit back from a branch, or all that an actor has done, as a new commit.

        With `actor` these are the actor's commits that the branch has and the commit `since` has not, those
        of merged branches among them, and with `where` those whose metadata has these values. What others
        have changed since stays; the same property is a conflict. The strategy is `entity` for one commit,
        and `property` for an actor's."""
        ...

    async def show(self, id: str) -> Commit:
        """Return one commit, of any branch."""
        ...

class AsyncTags:
    """Names for commits; cleanup keeps what they name for as long as they exist."""

    async def create(self, name: str, commit: str | None = None, branch: str | None = None) -> Tag:
        """Name a commit: the one with this id, or a branch's head (this handle's branch unless given)."""
        ...

    async def delete(self, name: str, *, if_commit: str | None = None) -> None:
        """Remove a name; the next cleanup may drop the commit. `if_commit` is the one it must still name."""
        ...

    async def list(self) -> list[Tag]:
        """Return all tags, sorted by name; the log tells of damaged ones. Under a policy those of commits
        that may be read."""
        ...

class AsyncSchema:
    """The schema at the head of a handle's branch."""

    catalog: Awaitable[Catalog]
    source: Awaitable[str]

    async def apply(
        self,
        text_or_path: str | Path,
        *,
        allow_drop: bool = False,
        allow_data_loss: bool = False,
        mode: SchemaMode = "replace",
        allow_broken_queries: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> SchemaApply:
        """Change the schema of this branch, and the data with it, in one commit.

        With mode `replace` the text is the whole schema. What it leaves out is dropped, if that is allowed:
        after `allow_drop` older versions still have it until a cleanup, after `allow_data_loss` they do not.
        With mode `extend` the text is added to the schema that is there. A schema that breaks a stored query
        is refused, unless `allow_broken_queries` is given."""
        ...

    async def plan(
        self, text_or_path: str | Path, allow_data_loss: bool = False, *, mode: SchemaMode = "replace"
    ) -> MigrationPlan:
        """Return the steps that would lead to another schema; nothing is changed. See `apply` for `mode`."""
        ...

class AsyncQueries:
    """The stored queries at the head of a handle's branch."""

    async def apply(
        self,
        source: Any,
        *,
        mode: SchemaMode = "replace",
        branch: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> QueriesApply:
        """Store the queries of a folder of `.gq` files, of files, or of texts by name, in one commit.

        They must fit the schema. With mode `replace` they are all that there is then; with mode `extend` they
        are added, and replace those of the same names."""
        ...

    async def list(self, *, branch: str | None = None, snapshot: Any = None) -> list[StoredQuery]:
        """Return the stored queries in the order of their names."""
        ...

    async def remove(
        self,
        names: str | Sequence[str],
        *,
        branch: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> QueriesApply:
        """Remove stored queries, each of which must be there, in one commit."""
        ...

    async def show(self, name: str, *, branch: str | None = None, snapshot: Any = None) -> StoredQuery:
        """Return one stored query: text, kind, description, parameters."""
        ...

    async def validate(
        self, source: Any, *, branch: str | None = None, snapshot: Any = None
    ) -> Sequence[StoredQuery]:
        """Return the queries in a folder, files or texts, checked against the schema; nothing is stored."""
        ...

class AsyncChanges:
    """The changes of a graph's branches, as they happen."""

    async def apply(
        self, *parts: ChangeBlock | Mapping[str, Any], branch: str | None = None, message: str | None = None
    ) -> str | None:
        """Apply a block of another graph's feed to this one; return the commit, None when nothing changed.

        A block that came in several pages is applied with all its parts. This graph must have been made with
        the schema of the feed's first block, so that identities agree."""
        ...

    async def baseline(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        branch: str | None = None,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
    ) -> Baseline | AsyncIterator[dict[str, Any]]:
        """Return every entity of a branch's head, then a cursor; or write them to a file, one a line."""
        ...

    async def poll(
        self,
        *,
        branch: str | None = None,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        commits: int | None = None,
        events: Sequence[FeedEvents] | None = None,
    ) -> ChangePage:
        """Return what a branch committed after a cursor, or from `start`: now, beginning, after:<commit>.

        With `events=("commits", "proposals")` the page also has what has happened to proposals from the
        branch or into it, and its cursor stands in both."""
        ...

    async def stream_writer(self, *, app_id: str, branch: str | None = None) -> ReplayWriter:
        """Return a function for `foreachBatch` of Spark that carries out another graph's feed on this one.

        The stream is `spark.readStream.format("omnigraph").option("changes", …)`. Each block lands once."""
        ...

class AsyncEntities:
    """The nodes of a graph, as far as several of them are taken together."""

    async def combine(
        self,
        type: str,
        keep: str,
        drop: str | Sequence[str],
        *,
        values: CombineValues = "fill",
        properties: Mapping[str, Any] | None = None,
        resolutions: Any = None,
        branch: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> CombinedNodes:
        """Combine duplicates: make one node of several, and move the edges of the others to it.

        `values` says whose values it gets: `fill` takes those of the others where it has none, `keep` takes
        nothing, `newest` takes those of what was changed last; `properties` are set whatever it had. Edges
        that are the same then, by their key, become one, and edges between the nodes go. What breaks a rule
        of the schema is a `MergeConflicts` error, and `resolutions` answers it."""
        ...

    async def find_same(
        self,
        type: str,
        on: str | Sequence[str],
        *,
        branch: str | None = None,
        snapshot: Pinned | AsyncSnapshot | str | None = None,
        limit: int | None = None,
    ) -> list[tuple[str, ...]]:
        """Return the ids of nodes that have the same values of some properties, group by group."""
        ...

class AsyncProposals:
    """The proposals of a graph."""

    async def approve(self, id: str, *, commit: str | None = None, text: str = "") -> Proposal:
        """Approve a proposal as its source is now; a later push voids that, and so do other saved answers.

        `commit` is what was looked at: when the source is another one by now, nothing is approved. Nobody
        approves what they have opened, written or answered."""
        ...

    async def close(self, id: str, text: str = "") -> Proposal:
        """Close a proposal without merging it; `reopen` takes that back."""
        ...

    async def comment(
        self,
        id: str,
        text: str,
        *,
        entity: Mapping[str, str] | Sequence[str] | None = None,
        commit: str | None = None,
    ) -> Proposal:
        """Say something about a proposal, or about an entity: (type, id), or (type, id, property)."""
        ...

    async def create(
        self,
        source: str,
        into: str = MAIN,
        title: str = "",
        description: str = "",
        *,
        reviewers: Sequence[str] = (),
        checks: Sequence[str] = (),
        strategy: MergeStrategy = "entity",
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        same_as: Any = None,
    ) -> Proposal:
        """Propose to merge a branch into another; nothing of either changes.

        `checks` are names of stored queries that must return no rows on the merged result, beside those that
        the target demands. `metadata` is noted in the commit of the merge. The same `idempotency_key` again
        answers with the first proposal. `same_as` finds duplicates, as in a merge."""
        ...

    async def list(
        self,
        state: str | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        source: str | None = None,
        into: str | None = None,
    ) -> list[Proposal]:
        """Return proposals, newest first: of one state, source or target, and those that follow an id."""
        ...

    async def merge(
        self,
        id: str,
        *,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
        delete_branch: bool = False,
        commit: str | None = None,
    ) -> Merge:
        """Merge a proposal that meets what its target demands, as one commit that names it.

        What cannot be merged is `NotMergeable`, with reasons, or `MergeConflicts`. With `commit` nothing is
        merged when the source says something else than this. A proposal that is merged already answers with
        its commit."""
        ...

    async def mergeable(self, id: str) -> Mergeability:
        """Return whether a proposal can be merged now; if not, why: each reason has a code.

        Nothing is merged. Checks are run on what the merge would make of the target."""
        ...

    async def poll(self, cursor: str | None = None, *, limit: int = 1000) -> ProposalPage:
        """Return what has happened to proposals after a cursor, all that has happened without one.

        Events of one proposal come in their order; each comes once to who goes on from cursor to cursor."""
        ...

    async def reopen(self, id: str, text: str = "") -> Proposal:
        """Open a closed proposal again."""
        ...

    async def request_changes(self, id: str, text: str = "", *, commit: str | None = None) -> Proposal:
        """Ask for changes of a proposal as its source is now: until then it is not merged.

        A push answers it, other saved answers do, and so does an approval of the same actor."""
        ...

    async def resolve(self, id: str, resolutions: Any, *, replace: bool = False) -> Proposal:
        """Save answers to conflicts, some or all, in the place of earlier ones for the same conflicts.

        They are those of a merge; one whose `take` is None takes an earlier answer away. An answer to a
        conflict is kept with what the conflict shows, and is not used when either side says something else
        by the time of the merge. With `replace` no earlier answer stays."""
        ...

    async def show(self, id: str) -> Proposal:
        """Return a proposal, by its id or the beginning of it."""
        ...

class AsyncSnapshot:
    """The graph as it was at one commit. It never changes, whatever happens to the branch."""

    branch: str
    catalog: Awaitable[Catalog]
    commit: Commit
    commit_id: str
    distinct: dict[str, Mapping[str, int]]
    queries: Awaitable[QuerySet]
    schema_source: Awaitable[str]
    tables: list[TableInfo]
    version: int

    async def blob(self, entity: EntityKind, type: str, id: str, property: str) -> AsyncBlob:
        """Return a blob of a node or edge of this snapshot, to be read in ranges."""
        ...

    async def entity(self, type: str, id: str) -> AsyncEntity:
        """Return a node or edge of this snapshot: its properties, edges, history and blame."""
        ...

    async def explain(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        analyze: bool = False,
        *,
        name: str | None = None,
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Explanation:
        """Return how a read query is carried out on this snapshot."""
        ...

    async def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Result:
        """Run a read query on this snapshot."""
        ...

    async def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
    ) -> Result:
        """Run a stored read query of this snapshot."""
        ...

    async def stream(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        batch_rows: int = 65536,
        timeout: float | None = None,
    ) -> AsyncStream:
        """Run a read query and return its rows as Arrow batches, made while they are asked for."""
        ...

class AsyncStream:
    """The rows of a read as record batches, computed on demand, of the commit that it saw."""

    columns: list[str]
    commit_id: str
    schema: tuple[Column, ...]

    def __aiter__(self) -> AsyncIterator[pa.RecordBatch]: ...

class AsyncDiff:
    """What leads from one commit to another. Iterating reads as it goes; nothing is read before."""

    changes: Awaitable[list[Change]]
    counts: Awaitable[dict[str, dict[str, int]]]
    from_commit: str
    queries: Awaitable[QueriesChange | None]
    schema: Awaitable[SchemaChange | None]
    to_commit: str
    total: Awaitable[int]

    async def page(
        self, limit: int | None = None, page_token: str | None = None, max_bytes: int | None = None
    ) -> DiffPage:
        """Return the next part, of at most `limit` changes; the token of the part before continues it."""
        ...

    def __aiter__(self) -> AsyncIterator[Change]: ...

class AsyncBlob:
    """A blob of one commit. After `put` and `clear` it is the blob of the commit that they made."""

    entity: str
    type: str
    id: str
    property: str
    commit_id: str
    is_null: Awaitable[bool]
    size: Awaitable[int | None]

    async def clear(self, *, message: str | None = None) -> Mutation:
        """Set the blob to null as one commit."""
        ...

    async def pieces(self, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """Yield the same bytes in pieces of at most 4 MiB, so that a large blob takes little memory."""
        ...

    async def put(self, data: bytes | str, *, message: str | None = None) -> Mutation:
        """Store other bytes (or a string as a load takes it, `base64:…`) as one commit."""
        ...

    async def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Return all bytes, or `length` of them from `offset` on; fewer where the blob ends."""
        ...

class AsyncEntity:
    """A node or edge of one commit. What is asked about its past goes back from there."""

    commit_id: str
    ends: Awaitable[tuple[str, str] | None]
    exists: Awaitable[bool]
    id: str
    kind: str
    properties: Awaitable[dict[str, Any]]
    type: str

    async def blame(self) -> dict[str, Commit]:
        """Return for each property the commit that gave it the value that it has."""
        ...

    async def edges(
        self, types: Sequence[str] | None = None, direction: EdgeDirection = "both", limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the edges of a node as records of a load, by type; a loop is there once."""
        ...

    async def history(
        self, limit: int | None = None, *, earlier: bool = False
    ) -> AsyncIterator[EntityChange]:
        """Yield the commits that changed it, newest first, merged branches included, with before and after.

        It ends where it was inserted. With `earlier`, or when it is not there, what had the same id
        before is looked for as well: that takes a look at every older version of its type."""
        ...

    async def reset(
        self, revision: str, *, message: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> str | None:
        """Make it what it was at another commit, as one new commit; where it was not there, it is deleted.

        Returns the commit, None when nothing changed. The edges that were deleted with a node do not come
        back with it."""
        ...

async def aopen(
    uri: str | os.PathLike[str],
    *,
    branch: str = MAIN,
    read_only: bool = False,
    rescue: bool = False,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    embedding: EmbeddingChoice = None,
    token: str | None = None,
    policy: PolicySource | Gate | None = None,
) -> AsyncGraph:
    """Open a graph on one of its branches, also one that a server has (`http://host/graphs/name`).

    A handle for reading writes nothing, not even recovery.

    A branch whose newest commit is damaged opens for reading: what of it cannot be read is an error when it
    is read, and `repair` reports what is damaged. With `rescue` it opens for writing as well, so that
    branches can be begun from its sound commits; nothing can be written to the branch itself.
    `embedding` is the provider that turns texts into vectors: the name of a kind, a configuration, or an
    object with `model` and `embed`; without it the environment variables decide.
    `token` is for a server, which takes everything else but the branch from its own configuration.
    `policy` says what `actor` may do: a file, a text of YAML, or what it says; without it all is allowed."""
    ...

async def ainit(
    uri: str | os.PathLike[str],
    schema: SchemaInput,
    *,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    embedding: EmbeddingChoice = None,
    force: bool = False,
) -> AsyncGraph:
    """Make a new graph and open it. The schema is a text, the path of a `.pg` file, or a catalog.

    A root that is not empty is refused; with `force` a graph is made among the files that lie there, but
    never over another graph. The first commit names the actor."""
    ...
