"""`publish`: the only function that makes a change visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from omnigraph.base.errors import Contention, OutcomeUnknown, Unavailable
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.conflict import Conflicting, FilesRewritten, compare_with_head
from omnigraph.graph.publish.fence import is_condemned
from omnigraph.graph.publish.outcome import (
    Discarded,
    FilesMayBeGone,
    Published,
    PublishOutcome,
    SettledOutcome,
)
from omnigraph.graph.publish.plan import PublishPlan, next_record

GIVEN_UP = "GivenUp"
"""The kind of the note that a commit, known by its id alone, is never to be published."""


def publish(truth: Truth, plan: PublishPlan, state: BranchState, retries: int) -> PublishOutcome:
    """Put the plan's record after the newest one, if the plan still fits there.

    `state` is the newest state of the branch that the caller knows, and the plan is known not to have been
    settled up to it. Each lost race reads what is newest then, compares again and takes a new parent; the
    commit id stays (invariants 2 and 4).
    """
    failure: Unavailable | None = None
    for _ in range(retries + 1):
        verdict = compare_with_head(plan, state.head)
        if isinstance(verdict, Conflicting | FilesRewritten):
            return verdict
        if is_condemned(truth, plan, state.head.fence):
            return FilesMayBeGone()
        known, stored = state, None
        try:
            stored = truth.chains.put(next_record(plan, state))
            if stored is not None and truth.confirm_or_take_back(state, stored):
                return Published.as_stored(stored)
        except OutcomeUnknown:
            raise
        except Unavailable as error:
            if not error.retryable:
                raise
            # Perhaps it arrived all the same: under the same number it can be put again without harm.
            failure = error
        state = truth.refresh(state, anew=stored is not None)
        if failure is not None and state.head.closed:
            state = _to_the_end(truth, plan, state)
        if (settled := settlement(truth, plan, state, known)) is not None:
            return settled
    if failure is not None:
        raise failure
    raise Contention(
        f"other writers of branch {plan.branch!r} were faster {retries + 1} times in a row: try again",
        branch=plan.branch,
        tries=retries + 1,
    )


def _to_the_end(truth: Truth, plan: PublishPlan, state: BranchState) -> BranchState:
    """Return the end of a chain that is over, for who may have put a record there before."""
    newest = truth.newest_of(plan.incarnation)
    if newest is None:
        raise truth.unknown(plan.commit, plan.branch)
    return replace(state, head=newest if newest.closed else state.head)


def settlement(
    truth: Truth, plan: PublishPlan, state: BranchState, known: BranchState
) -> SettledOutcome | None:
    """Return what became of a plan in what a branch has published since a known state; None if it is pending.

    It may stand there because its acknowledgement was lost, or because recovery believed its writer dead. Who
    settles a plan puts that onto the plan's own chain before anything else, so no writer can step over it.
    What cleanups have dropped meanwhile is looked up in their lists. These tell commits, not what they said:
    where records are gone a note may have gone with them, so the plan counts as discarded. It is not put as
    it is, but made again by work that looks at everything anew.
    """
    later = truth.since(state, known.head.seq)
    for record in later:
        if record.commit == plan.commit:
            return Published.as_stored(record)
    if truth.has_lost(plan.commit, state, known):
        return Published(plan.commit, plan.answer)
    noted = (note.operation_id for record in later for note in record.recovery)
    is_over = plan.operation_id in noted or is_given_up(later, plan.commit)
    return Discarded() if is_over or has_gaps(later, state, known.head.seq) else None


def has_gaps(later: Sequence[CommitRecord], state: BranchState, after: int) -> bool:
    """Return whether some of the records are gone that a branch has published after a number."""
    if state.head.incarnation != state.ref.incarnation:
        return False
    return len(later) < state.head.seq - max(after, state.ref.fork_seq)


def is_given_up(records: Iterable[CommitRecord], commit: str) -> bool:
    """Return whether a record says that a commit is never to be published."""
    notes = (note for record in records for note in record.recovery)
    return any(note.kind == GIVEN_UP and note.for_commit == commit for note in notes)
