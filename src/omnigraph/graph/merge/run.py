"""Merging, reverting and cherry-picking: from what a user asks for to the commit that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.base.errors import BadInput, OmniError
from omnigraph.base.notebook import html_table
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.internals import FindPairs
from omnigraph.graph.manifest.lineage import CHERRY_PICK, note_pick
from omnigraph.graph.manifest.merge_base import Outcome, merge_base
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.merge.answers.read_resolutions import read_resolutions
from omnigraph.graph.merge.classify import Strategy
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.graph.merge.duplicates.rules import read_rules
from omnigraph.graph.merge.plan import Options
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.merge.tables import MergeCounts
from omnigraph.graph.merge.undo.select import UndoWanted, select_commits
from omnigraph.graph.merge.work import CHANGES, Choose, MergeWork
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.write.commit import commit
from omnigraph.graph.write.integrity.blob_sources import allow_sources
from omnigraph.graph.write.work import CommitRequest
from omnigraph.graph.write.write_state import WriteBase


@dataclass(frozen=True)
class Merge:
    """What a merge did, or with `dry_run` would do."""

    outcome: str
    """already_up_to_date, fast_forward or merged."""
    commit_id: str | None
    source: str
    target: str
    base: str
    """The commit that both sides began from."""
    counts: Mapping[str, MergeCounts] = field(default_factory=dict)
    """By table key (`node:Person`): entities inserted, updated and deleted on the target."""
    conflicts: tuple[MergeConflict, ...] = ()
    """Only in a dry run; otherwise conflicts are an error."""
    branch_deleted: bool = False
    branch_delete_error: str | None = None
    edges: tuple[int, ...] = ()
    """Where nodes were combined: how many edges were moved, folded into others, and gone as loops."""

    def __repr__(self) -> str:
        each = self.counts.values()
        done = {name: sum(getattr(item, name) for item in each) for name in CHANGES}
        counts = "".join(f", {count:,} {name}" for name, count in done.items() if count)
        clash = f", {len(self.conflicts):,} conflicts" if self.conflicts else ""
        where = f"{self.source!r} into {self.target!r}"
        return f"Merge({self.outcome}: {where}{counts}{clash}; commit={self.commit_id!r})"

    def _repr_html_(self) -> str:
        """Return the counts by table, or the conflicts, as a table, for notebooks."""
        note = f"{self.outcome}: {self.source} into {self.target}, commit {self.commit_id}"
        if self.conflicts:
            found = [(item.kind, item.type_name, item.entity_id, item.message) for item in self.conflicts]
            return html_table(("conflict", "type", "id", "what"), found, f"{note}; {len(found):,} conflicts")
        rows = [(key, item.inserted, item.updated, item.deleted) for key, item in self.counts.items()]
        return html_table(("table", "inserted", "updated", "deleted"), rows, note)


def options(
    strategy: str,
    resolutions: Any,
    access: ActorAccess | None = None,
    same_as: Any = None,
    find_pairs: FindPairs | None = None,
) -> Options:
    """Return the options that a user gave, checked."""
    try:
        chosen = Strategy(strategy)
    except ValueError:
        raise BadInput(f"strategy is {strategy!r}: use one of {', '.join(Strategy)}") from None
    answers, rules = read_resolutions(resolutions), read_rules(same_as)
    return Options(chosen, answers, same_as=rules, find_pairs=find_pairs, access=access)


def merge_branch(
    core: Core,
    source: str,
    request: CommitRequest,
    chosen: Options,
    dry_run: bool,
    and_delete: Callable[[str, BranchState], None] | None = None,
) -> Merge:
    """Merge a branch into another; `and_delete`, told what was merged, deletes the source, and may refuse."""
    if source == request.branch:
        raise BadInput(f"branch {source!r} cannot be merged into itself", branch=source)
    taken: list[BranchState] = []

    def capture() -> Choose:
        taken[:] = [core.truth.state(source)]
        theirs = taken[0].head
        return lambda ours: Sides(merge_base(core.truth.chains, ours, theirs), ours, theirs)

    target = f"branch {request.branch!r}"
    work = MergeWork(core, "merge", f"branch {source!r}", target, capture, chosen, guard=request.guard)
    merged = _run(core, work, source, request, dry_run)
    if and_delete is None or dry_run:
        return merged
    if not taken:  # the answer to an earlier call: what became of the branch since is not its business
        return replace(merged, branch_delete_error=f"branch {source!r} was left alone: it was merged before")
    try:
        and_delete(source, taken[0])
    except OmniError as error:
        return replace(merged, branch_delete_error=error.message)
    return replace(merged, branch_deleted=True)


def pick_commit(
    core: Core, picked: CommitRecord, request: CommitRequest, chosen: Options, dry_run: bool, undo: bool
) -> Merge:
    """Bring the change of one commit, against its first parent, to a branch; or take it back from there."""
    if picked.parent is None:
        raise BadInput(
            f"commit {picked.commit} is the first commit of the graph: it has no parent to compare with",
            commit=picked.commit,
        )
    before = core.truth.chains.at(picked.parent)
    base, theirs = (picked, before) if undo else (before, picked)
    word = "revert" if undo else CHERRY_PICK
    if not undo:
        request = replace(request, metadata=note_pick(picked, request.metadata))
    name = f"{'the undoing of ' if undo else ''}commit {picked.commit}"
    work = MergeWork(
        core,
        word,
        name,
        f"branch {request.branch!r}",
        lambda: lambda ours: Sides(base, ours, theirs),
        chosen,
        two_parents=False,
        guard=request.guard,
    )
    return _run(core, work, picked.commit, request, dry_run)


def reset_branch(core: Core, target: CommitRecord, request: CommitRequest, dry_run: bool) -> Merge:
    """Give a branch the content of a commit: whatever makes the two differ is brought over, as one commit."""
    work = MergeWork(
        core,
        "reset",
        f"commit {target.commit}",
        f"branch {request.branch!r}",
        lambda: lambda ours: Sides(ours, ours, target),
        options(Strategy.ENTITY, None),
        two_parents=False,
        guard=request.guard,
    )
    return _run(core, work, target.commit, request, dry_run)


def undo_commits(
    core: Core, wanted: UndoWanted, request: CommitRequest, chosen: Options, dry_run: bool
) -> Merge:
    """Take back what an actor has done, as one commit; what others have done since stays.

    Which commits these are is fixed when it begins.
    """
    head = core.truth.state(request.branch).head
    undone = select_commits(core, head, wanted)
    noted = {**request.metadata, "revert.actor": wanted.actor, "revert.commits": str(len(undone))}
    name = f"the undoing of {len(undone)} commits of {wanted.actor!r}"
    work = MergeWork(
        core,
        "revert",
        name,
        f"branch {request.branch!r}",
        lambda: lambda ours: Sides(ours, ours, ours),
        replace(chosen, undone=undone),
        two_parents=False,
        guard=request.guard,
    )
    return _run(core, work, name, replace(request, metadata=noted), dry_run)


def combine_nodes(
    core: Core,
    named: str,
    stays: str,
    request: CommitRequest,
    chosen: Options,
    look: Callable[[CommitRecord], None],
) -> Merge:
    """Combine duplicates: a merge of a branch with itself, whose answers say which.

    `look` refuses a state of the branch at which one of them is not there.
    """

    def choose(ours: CommitRecord) -> Sides:
        look(ours)
        return Sides(ours, ours, ours)

    work = MergeWork(
        core, "combine", named, stays, lambda: choose, chosen, two_parents=False, guard=request.guard
    )
    return _run(core, work, named, request, dry_run=False)


def _again(first: Published, source: str, request: CommitRequest) -> Merge:
    """Return what a merge did that was made before, under the same idempotency key."""
    told = first.answer
    counts = {key: MergeCounts(*numbers) for key, numbers in told.get("counts", {}).items()}
    merged = Merge(told["outcome"], first.commit, source, request.branch, told["base"], counts)
    return replace(merged, edges=tuple(told.get("edges", ())))


def run_merge(core: Core, work: MergeWork, source: str, request: CommitRequest) -> Merge:
    """Carry out a merge and return what it did."""
    return _run(core, work, source, request, dry_run=False)


def _run(core: Core, work: MergeWork, source: str, request: CommitRequest, dry_run: bool) -> Merge:
    published = None
    if dry_run:
        base = WriteBase(core.truth.store, core.truth.state(request.branch))
        with allow_sources(request.blob_sources):
            work.stage(base)
            plan = work.explain(work.plan_on(base))
    else:
        published = commit(core.truth, core.settings, request, work)
        if published is not None and work.plan is None:
            return _again(published, source, request)
        assert work.plan is not None
        plan = work.plan
    changes = bool(plan.takes or plan.deltas or plan.drops or plan.conflicts or published)
    outcome = plan.outcome
    if not changes and outcome is Outcome.MERGED and not dry_run:
        outcome = Outcome.UP_TO_DATE
    return Merge(
        outcome.value,
        published.commit if published else None,
        source,
        request.branch,
        plan.sides.base.commit,
        plan.counts,
        plan.conflicts,
        edges=plan.combination.edges if plan.combination.pairs else (),
    )
