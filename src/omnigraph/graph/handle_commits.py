"""`g.commits`: the history of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import ChangeOp, EntityKind, MergeStrategy, refuse_branch_and_start
from omnigraph.base.errors import BadInput
from omnigraph.graph import history
from omnigraph.graph.history import Commit
from omnigraph.graph.open_graph import OpenGraph

if TYPE_CHECKING:
    from omnigraph.graph.changes.commit import CommitChanges
    from omnigraph.graph.merge.run import Merge


def check_reverted(id: str | None, actor: str | None, since: str | None, where: object) -> None:
    """Refuse to revert nothing, or two things."""
    if id is not None and actor is not None:
        raise BadInput("give the id of a commit or an actor, not both")
    if (id is None and actor is None) or (actor is None and (since is not None or where is not None)):
        raise BadInput("give the id of a commit, or an actor, perhaps with `since` and `where`")


class Commits:
    """The history of a graph."""

    def __init__(self, graph: OpenGraph) -> None:
        self._graph = graph
        self._internals = graph.internals

    def list(
        self,
        branch: str | None = None,
        limit: int | None = None,
        actor: str | None = None,
        *,
        start: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> list[Commit]:
        """Return the commits that a branch's head, or the commit `start`, can reach, newest first.

        With `actor` only those of one actor; with `where` only those whose metadata has these values.
        """
        refuse_branch_and_start(branch, start)
        if start is None:
            self._internals.check_allowed("read", self._internals.resolve_branch(branch))
        head = self._internals.read_state(branch).head if start is None else self._graph.find(start)
        access, core = self._internals.make_access(), self._internals.core
        sees = None if access is None else access.sees
        return history.list_commits(core.truth, head, limit, actor, where, sees, measures=core.sight is None)

    def changes(
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
        from omnigraph.graph.changes.commit import commit_changes
        from omnigraph.graph.changes.model import ChangeFilter

        core = self._internals.core
        record = self._graph.find(id)
        return commit_changes(core, record, ChangeFilter.of(kinds, types, ops), limit, max_bytes, page_token)

    def show(self, id: str) -> Commit:
        """Return one commit, of any branch."""
        return self._internals.core.commit_of(self._graph.find(id))

    def revert(
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
        and `property` for an actor's.
        """
        check_reverted(id, actor, since, where)
        if actor is None:
            how = strategy or "entity"
            return self._pick(str(id), branch, how, resolutions, dry_run, message, metadata, undo=True)
        from omnigraph.graph.merge import run as merging
        from omnigraph.graph.merge.undo.select import UndoWanted

        graph = self._graph
        graph.internals.check_allowed("read" if dry_run else "change", graph.internals.resolve_branch(branch))
        access = graph.internals.make_access()
        options = merging.options(strategy or "property", resolutions, access)
        request = graph.internals.make_request(branch, message, dry_run, metadata=metadata)
        begin = None if since is None else graph.find(since)
        values = dict(history.check_where(where))
        wanted = UndoWanted(actor, begin, values, None if access is None else access.sees)
        return merging.undo_commits(graph.internals.whole, wanted, request, options, dry_run)

    def cherry_pick(
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
        return self._pick(id, onto, strategy, resolutions, dry_run, message, metadata, undo=False)

    def _pick(
        self,
        id: str,
        branch: str | None,
        strategy: str,
        resolutions: Any,
        dry_run: bool,
        message: str | None,
        metadata: Mapping[str, str] | None,
        undo: bool,
    ) -> Merge:
        from omnigraph.graph.merge import run as merging

        own = self._internals.resolve_branch(branch)
        self._internals.check_allowed("read" if dry_run else "change", own)
        options = merging.options(strategy, resolutions, self._internals.make_access())
        picked = self._graph.find(id)
        if (
            picked.parent is not None
            and self._internals.core.truth.chains.at(picked.parent).schema != picked.schema
        ):
            self._internals.check_allowed("schema_apply", target=own)
        said = picked.message if message is None else message
        request = self._internals.make_request(branch, said, dry_run, metadata=metadata)
        return merging.pick_commit(self._internals.whole, picked, request, options, dry_run, undo)
