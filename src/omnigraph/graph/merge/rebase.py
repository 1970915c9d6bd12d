"""Rebasing: the commits of a branch made again on top of another branch's head, which the branch then is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.base.errors import (
    BadInput,
    Contention,
    HistoricalVersionReclaimed,
    InvalidName,
    MergeConflicts,
)
from omnigraph.base.ids import new_chain_id
from omnigraph.graph.branches.lifecycle import replace_branch
from omnigraph.graph.branches.protection import refuse_protected
from omnigraph.graph.manifest.lineage import REBASE, Ancestry, note_rebase
from omnigraph.graph.manifest.merge_base import merge_base
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.graph.merge.plan import Options
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.merge.work import MergeWork
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.conflict import precondition_error
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.write.keys import note_landed
from omnigraph.graph.write.unnamed import commit_in_line
from omnigraph.graph.write.work import CommitRequest


@dataclass(frozen=True)
class Rebase:
    """What a rebase did."""

    outcome: str
    """already_up_to_date, or rebased."""
    branch: str
    onto: str
    base: str
    """The commit that both began from."""
    commit_id: str
    """The branch's head."""
    commits: tuple[str, ...] = ()
    """The commits that were made again, oldest first; those that changed nothing there are left out.

    In a dry run, the branch's commits that would be made again.
    """
    conflicts: tuple[MergeConflict, ...] = ()
    """Only in a dry run, those of the first commit that has any; otherwise conflicts are an error."""


def rebase_branch(
    core: Core,
    branch: str,
    onto: str,
    actor: str | None,
    options: Options,
    dry_run: bool = False,
    if_commit: str | None = None,
) -> Rebase:
    """Make a branch's commits again on top of another's head; the branch changes as a whole or not at all.

    `if_commit` names the commit that must still be the branch's head.
    """
    if branch == MAIN:
        raise InvalidName("'main' cannot be rebased: others are forked from it", name=branch)
    if branch == onto:
        raise BadInput(f"branch {branch!r} cannot be rebased onto itself", branch=branch)
    settle_abandoned(core.truth, core.settings)
    incarnation = core.truth.state(branch).ref.incarnation
    for _ in range(core.settings.prepare_retries + 1):
        state, target = core.truth.state(branch), core.truth.state(onto)
        if state.ref.incarnation != incarnation:
            break
        if if_commit is not None and (error := precondition_error(if_commit, state.head, branch)):
            raise error
        try:
            done = _attempt(core, state, target, actor, options, dry_run)
        except HistoricalVersionReclaimed:
            if not _has_moved(core, state, target):
                raise
            continue  # a cleanup took what had been the newest when this began
        if done is not None:
            return done
    raise Contention(
        f"branch {branch!r} kept moving while it was rebased: stop its writers and try again", branch=branch
    )


def _has_moved(core: Core, *states: BranchState) -> bool:
    return any(core.truth.refresh(state).head.commit != state.head.commit for state in states)


def _attempt(
    core: Core, state: BranchState, target: BranchState, actor: str | None, options: Options, dry_run: bool
) -> Rebase | None:
    refuse_protected(state, actor, "rebase")
    base = merge_base(core.truth.chains, target.head, state.head)
    done = Rebase("already_up_to_date", state.ref.name, target.ref.name, base.commit, state.head.commit)
    if base.content == target.head.content:
        return done
    own = list(_own_commits(core, state.head, base, target.head))
    ref = BranchRef(state.ref.name, new_chain_id(), target.head.ref)
    steps = [_again(core, picked, target.ref.name, actor, options) for picked in own]
    if dry_run:
        would = replace(done, outcome="rebased", commits=tuple(record.commit for _, record in own))
        try:
            commit_in_line(core.truth, core.settings, steps, replace(target, ref=ref), {}, put=False)
        except MergeConflicts as error:
            return replace(would, conflicts=error.conflicts)
        return would
    streams = state.head.streams
    line = commit_in_line(core.truth, core.settings, steps, replace(target, ref=ref), streams)
    for _, record in own:
        note_landed(core.truth, record)  # nothing will name these commits any more, but their keys count
    if not replace_branch(core.truth, state, target, line, actor):
        return None
    return replace(
        done,
        outcome="rebased",
        commit_id=line.records[-1].commit if line.records else target.head.commit,
        commits=tuple(record.commit for record in line.records),
    )


def _own_commits(
    core: Core, head: CommitRecord, base: CommitRecord, target: CommitRecord
) -> Iterator[tuple[CommitRecord, CommitRecord]]:
    """Yield the commits of a branch, each with its parent, that the target does not have, oldest first."""
    past, found = Ancestry(core.truth.chains), []
    record = head
    while record.commit != base.commit and record.parent is not None:
        parent = past.at(record.parent)
        # A branch's own commits that the target has lie behind the base; those that it inherited may not.
        inherited = record.incarnation != head.incarnation
        if parent is None or (inherited and _has(core, target, record)):
            break
        if record.commit_class is CommitClass.LOGICAL:
            found.append((parent, record))
        record = parent
    yield from reversed(found)


def _has(core: Core, target: CommitRecord, record: CommitRecord) -> bool:
    return merge_base(core.truth.chains, target, record).commit == record.commit


def _again(
    core: Core,
    picked: tuple[CommitRecord, CommitRecord],
    onto: str,
    actor: str | None,
    options: Options,
) -> tuple[CommitRequest, MergeWork]:
    before, record = picked
    work = MergeWork(
        core,
        REBASE,
        f"commit {record.commit} of branch {record.branch!r}",
        f"branch {onto!r}",
        lambda: lambda ours: Sides(before, ours, record),
        replace(options, in_steps=True),
        two_parents=False,
    )
    batches = {app: batch for app, batch in record.streams.items() if before.streams.get(app) != batch}
    return CommitRequest(
        record.branch,
        record.actor,
        record.message,
        streams=batches,
        metadata=note_rebase(record, actor),
    ), work
