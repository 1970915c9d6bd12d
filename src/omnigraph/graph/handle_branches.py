"""`g.branches`: each method is one call into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import MergeStrategy
from omnigraph.base.errors import ReadOnly
from omnigraph.graph.branches.create import create_branch, refuse_isolated
from omnigraph.graph.branches.info import BranchInfo, describe_branch
from omnigraph.graph.branches.lifecycle import restore_branch
from omnigraph.graph.branches.listing import list_branches
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.branches.protection import protect_branch, read_protection
from omnigraph.graph.branches.rename import rename_branch
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.open_graph import OpenGraph
from omnigraph.graph.publish.conflict import precondition_error
from omnigraph.graph.revisions import find_revision

# A read needs none of these.
if TYPE_CHECKING:
    from omnigraph.graph.merge.rebase import Rebase
    from omnigraph.graph.merge.run import Merge


class Branches:
    """The branches of a graph."""

    def __init__(self, graph: OpenGraph) -> None:
        self._graph = graph
        self._internals = graph.internals

    def list(self) -> list[str]:
        """Return the names of all branches: main first, then by name; the log tells of damaged ones.

        Under a policy only those that may be read.
        """
        access = self._internals.make_access()
        if access is not None:
            access.check_any()
        names = list_branches(self._internals.core.truth)
        return names if access is None else [name for name in names if access.allows(name)]

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
        name = normalise(name)
        source = from_branch if from_branch is not None or commit or tag else MAIN
        begins = None if source is None else normalise(source)
        self._internals.check_allowed("branch_create", begins, name)
        self._internals.check_writable()
        origin = self._graph.snapshot(source, commit, version, tag)
        if commit is not None or version is not None or tag is not None:
            refuse_isolated(self._internals.core.truth, origin.record)
        create_branch(self._internals.core.truth, name, origin.record, self._graph.actor)

    def restore(self, name: str, *, if_commit: str | None = None) -> None:
        """Bring a deleted branch back with its commits; possible until a cleanup has removed them.

        `if_commit` names the commit that must have been its head.
        """
        name = normalise(name)
        self._internals.check_allowed("branch_create", target=name)
        self._internals.check_writable()
        condition = self._internals.find_condition(if_commit)
        restore_branch(self._internals.core.truth, name, self._graph.actor, condition)

    def delete(self, name: str, *, if_commit: str | None = None) -> None:
        """Delete a branch; `restore` brings it back until a cleanup removes the commits that only it has.

        `if_commit` names the commit that must still be its head.
        """
        name, seen = normalise(name), None
        condition = self._internals.find_condition(if_commit)
        if condition is not None:
            self._internals.check_allowed("branch_delete", target=name)
            seen = self._internals.read_state(name)
            if error := precondition_error(condition, seen.head, name):
                raise error
        self._internals.delete_branch(name, seen)

    def rename(self, old: str, new: str, *, if_commit: str | None = None) -> None:
        """Give a branch another name; its commits and idempotency keys stay.

        Handles that are open on it must be opened again. A branch that others were forked from cannot be
        renamed before they are gone. `if_commit` names the commit that must still be its head.
        """
        old, new = normalise(old), normalise(new)
        self._internals.check_allowed("branch_delete", target=old)
        self._internals.check_allowed("branch_create", old, new)
        self._internals.check_allowed("read", old)  # its commits will be seen under another name
        self._internals.check_writable()
        condition = self._internals.find_condition(if_commit)
        rename_branch(self._internals.core.truth, old, new, self._graph.actor, condition)

    def info(self, name: str | None = None, compared_with: str = MAIN) -> BranchInfo:
        """Describe a branch: where it is, who wrote last, how far it is ahead of another and behind it."""
        truth = self._internals.core.truth
        self._internals.check_allowed("read", self._internals.resolve_branch(name))
        self._internals.check_allowed("read", normalise(compared_with))
        state = self._internals.read_state(name)
        return describe_branch(truth, state, truth.state(normalise(compared_with)))

    def protect(self, name: str = MAIN, *, approvals: int = 1, checks: Sequence[str] = ()) -> None:
        """Let nothing but proposals change a branch, with so many approvals, and these checks passed.

        Checks are names of stored queries that must return no rows on what a merge would make of it.
        """
        self._may_protect(name)
        wanted = read_protection(approvals, checks)
        protect_branch(self._internals.core.truth, normalise(name), wanted, self._graph.actor)

    def unprotect(self, name: str = MAIN) -> None:
        """Let writers change a branch directly again."""
        self._may_protect(name)
        protect_branch(self._internals.core.truth, normalise(name), None, self._graph.actor)

    def _may_protect(self, name: str) -> None:
        self._internals.check_writable()
        if self._graph.policy is not None:
            self._graph.policy.check(self._graph.actor, "admin", target_branch=normalise(name))

    def reset(
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
        the newest commit of the branch that is reset).
        """
        from omnigraph.graph.merge import run as merging

        own = self._internals.resolve_branch(name)
        self._internals.check_allowed("read" if dry_run else "change", own)
        request = self._internals.make_request(name, message, dry_run, idempotency_key, metadata)
        target = find_revision(
            self._internals.core.truth, commit, request.branch, self._internals.make_access()
        )
        if target.schema != self._internals.core.truth.state(own).head.schema:
            self._internals.check_allowed("schema_apply", target=own)
        return merging.reset_branch(self._internals.whole, target, request, dry_run)

    def merge(
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
        Disagreements are a `MergeConflicts` error that carries all of them, and change nothing.
        """
        from omnigraph.graph.merge import run as merging

        self._internals.check_merge(normalise(source), normalise(into), dry_run)
        internals = self._internals
        find_pairs = None if internals.graph.read_only else internals.find_pairs
        options = merging.options(strategy, resolutions, internals.make_access(), same_as, find_pairs)
        request = self._internals.make_request(into, message, dry_run, idempotency_key, metadata)
        done = self._internals.delete_branch if delete_branch else None
        return merging.merge_branch(self._internals.whole, normalise(source), request, options, dry_run, done)

    def rebase(
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
        `if_commit` names the commit that must still be the branch's head.
        """
        from omnigraph.graph.merge import rebase, run

        self._internals.check_allowed("read", normalise(onto))
        self._internals.check_allowed("branch_merge", normalise(onto), normalise(name))
        self._internals.check_allowed("change", normalise(name))
        if dry_run and self._graph.read_only:
            raise ReadOnly(
                "a dry run of a rebase tries each commit on what the one before it made, so it writes files: "
                "open the graph with read_only=False"
            )
        self._internals.check_writable()
        for branch in (name, onto):
            self._internals.check_sees_all("a rebase", normalise(branch))
        options = run.options(strategy, resolutions, self._internals.make_access())
        names = normalise(name), normalise(onto)
        condition = self._internals.find_condition(if_commit)
        return rebase.rebase_branch(
            self._internals.whole, *names, self._graph.actor, options, dry_run, condition
        )
