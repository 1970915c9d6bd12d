"""Settling abandoned plans: the same publish applied again, or a note that says why not.

Whether a plan's writer still lives is only a guess about when to try. Who settles a plan takes it over first,
by compare-and-swap, so that its writer can no longer withdraw it. The outcome is put onto the plan's own
chain, as the commit itself or as a note, at a number that the writer would have to take as well: a writer
that was believed dead and goes on cannot step over it (`publisher.settlement`).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace

from omnigraph.base.errors import (
    Contention,
    CorruptState,
    HistoricalVersionReclaimed,
    NotFound,
    UnreadablePlan,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.settings import Settings
from omnigraph.graph.manifest.layout import plan_path
from omnigraph.graph.manifest.lineage import find_in_chain
from omnigraph.graph.manifest.record import CommitRecord, RecoveryNote
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.conflict import FilesRewritten
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.publish.plan import PublishPlan, note_plan
from omnigraph.graph.publish.publisher import GIVEN_UP, has_gaps, is_given_up, publish
from omnigraph.graph.publish.races import MAX_LOST_RACES
from omnigraph.graph.publish.table_files import table_files
from omnigraph.graph.recovery import plans
from omnigraph.graph.recovery.owner import is_alive
from omnigraph.graph.recovery.plans import DurablePlan
from omnigraph.graph.recovery.restage import restage
from omnigraph.storage.namespace import PinnedTable

ACTOR = "omnigraph:recovery"
_log = logging.getLogger("omnigraph")


def settle_abandoned(truth: Truth, settings: Settings) -> int:
    """Settle every plan whose writer seems gone and return how many there were (one listing when none)."""
    settled = 0
    for path in plans.list_plans(truth.store):
        try:
            durable = plans.read_plan(truth.store, path)
        except UnreadablePlan as error:
            _set_aside(truth, path, error)
            continue
        if durable is None or _writer_lives(durable, settings):
            continue
        taken = plans.take_plan(truth.store, path)
        try:
            if taken is not None:
                settle_plan(truth, taken)
        except CorruptState as error:
            # Damage of one branch stops nobody on the others; the plan waits until it is fixed.
            _log.warning("a pending %s was left alone: %s", durable.plan.operation, error.message)
            continue
        hit(Failpoint.RECOVERY_BEFORE_DELETE)
        plans.delete_plan(truth.store, durable.plan.operation_id)
        settled += 1
    return settled


def _set_aside(truth: Truth, path: str, error: UnreadablePlan) -> None:
    """Let a plan that cannot be read stop nobody; what a later release wrote is left to that release."""
    if error.details.get("later_release"):
        _log.warning("%s; it was left alone", error.message)
        return
    plans.quarantine_plan(truth.store, path)
    _log.warning("%s; it was moved to %s", error.message, plans.quarantine_of(path))


def _writer_lives(durable: DurablePlan, settings: Settings) -> bool:
    return is_alive(durable.owner, durable.plan.operation_id, durable.created_at, settings.plan_lease_seconds)


def settle_plan(truth: Truth, durable: DurablePlan) -> None:
    """Publish a plan that was taken over, or say on its branch, or on main, why not."""
    plan = durable.plan
    ref = _live_ref(truth, plan)
    if ref is not None and ref.incarnation != plan.incarnation:
        if _has_landed(truth, plan) and _note_on(truth, ref, plan):
            return
    elif ref is not None and _settle_on(truth, ref, plan):
        return
    main = truth.stamp.main_ref
    for _ in range(MAX_LOST_RACES):
        state = truth.state_of(main)
        if _is_noted(truth.since(state, durable.main_seq), plan.operation_id) or _is_gone(truth, plan):
            return
        if _put_note(truth, state, "OrphanedBranchDiscarded", plan):
            return
    raise _too_busy(MAIN)


def _settle_on(truth: Truth, ref: BranchRef, plan: PublishPlan) -> bool:
    """Publish a plan, or note on its branch what became of it; False when the branch is gone.

    Each step is decided on one state of the branch and put after it, so it holds only if nothing came
    between.
    """
    for _ in range(MAX_LOST_RACES):
        state = truth.state_of(ref)
        later = truth.since(state, plan.base.seq)
        if _is_noted(later, plan.operation_id) or _is_gone(truth, plan):
            return True  # it was settled before, and stays so whatever has changed since
        if state.head.closed:
            return False
        if is_given_up(later, plan.commit):
            if _put_note(truth, state, "RolledBack", plan):
                return True
            continue
        # Cleanups keep what follows the base of a plan that is there. Where records are gone the plan came
        # after they went, and nothing tells whether they said that it was given up.
        fits = not has_gaps(later, state, plan.base.seq)
        if any(record.commit == plan.commit for record in later):
            if _put_note(truth, state, "RolledForward", plan):
                return True
        elif (fits and _try_publish(truth, state, plan)) or _put_note(truth, state, "RolledBack", plan):
            return True
    raise _too_busy(ref.name)


def _has_landed(truth: Truth, plan: PublishPlan) -> bool:
    """Return whether a plan was published on a chain that its branch has left since."""
    newest = truth.newest_of(plan.incarnation)
    if newest is None:
        return False
    records = truth.chains.records(plan.incarnation, range(plan.base.seq + 1, newest.seq + 1))
    return any(record.commit == plan.commit and truth.chains.holds(record.ref) for record in records)


def _note_on(truth: Truth, ref: BranchRef, plan: PublishPlan) -> bool:
    """Note on the chain where a branch goes on that a plan had been published; False when it is gone."""
    for _ in range(MAX_LOST_RACES):
        state = truth.state_of(ref)
        if state.head.closed:
            return False
        if _is_noted(truth.since(state, state.ref.fork_seq), plan.operation_id) or _is_gone(truth, plan):
            return True
        if _put_note(truth, state, "RolledForward", plan):
            return True
    raise _too_busy(ref.name)


def _is_gone(truth: Truth, plan: PublishPlan) -> bool:
    """Return whether another has settled a plan and has deleted it.

    Asked after a state of the branch was read: a cleanup keeps what follows the base of a plan that is there,
    so either the plan is gone, or that state has the note.
    """
    return not truth.store.exists(plan_path(plan.operation_id))


def _try_publish(truth: Truth, state: BranchState, plan: PublishPlan) -> bool:
    """Publish the plan right after a state, if it fits there; say whether it stands there with its note."""
    hit(Failpoint.RECOVERY_BEFORE_PUBLISH)
    forward = replace(plan, recovery=(_note_of("RolledForward", plan),))
    try:
        _open_tables(truth, plan)
        outcome = publish(truth, forward, state, retries=0)
        if isinstance(outcome, FilesRewritten):
            # Only maintenance came between: the content that the plan builds on is still the branch's.
            again = restage(truth, forward, state)
            outcome = publish(truth, again, state, retries=0) if again is not None else outcome
    except Contention:
        return False
    except (CorruptState, HistoricalVersionReclaimed, NotFound) as error:
        # Nobody was told that it landed: better lost than a branch that cannot be read.
        _log.warning("what %s %s had staged cannot be read: %s", plan.operation, plan.commit, error.message)
        return False
    hit(Failpoint.RECOVERY_AFTER_PUBLISH)
    if not isinstance(outcome, Published) or outcome.record is None:
        return False
    return _is_noted([outcome.record], plan.operation_id)


def _open_tables(truth: Truth, plan: PublishPlan) -> None:
    """Open what a plan would publish, which compares it with its sums."""
    for item in plan.writes.values():
        table_files(truth.store, item.key, PinnedTable(item.location, item.pin))


def _live_ref(truth: Truth, plan: PublishPlan) -> BranchRef | None:
    """Return the branch of a plan, perhaps rebased, restored or renamed since; None when it is gone."""
    if plan.branch == MAIN:
        return truth.stamp.main_ref
    with suppress(NotFound):
        ref = truth.state(plan.branch).ref
        if plan.incarnation in (ref.incarnation, *ref.predecessors):
            return ref
    renamed = [ref.name for ref in truth.refs.list() if plan.incarnation in ref.predecessors]
    for name in renamed:
        with suppress(NotFound):
            return truth.state(name).ref
    return None


def _put_note(truth: Truth, state: BranchState, kind: str, plan: PublishPlan) -> bool:
    """Record what became of a plan, in a commit right after a state; False when something came between."""
    message = f"{kind}: {plan.operation} {plan.commit}"
    said = (_note_of(kind, plan),)
    note = note_plan(state, "recovery", ACTOR, message, operation_id=plan.operation_id, recovery=said)
    try:
        return isinstance(publish(truth, note, state, retries=0), Published)
    except Contention:
        return False


def give_up_commit(truth: Truth, ref: BranchRef, commit: str, actor: str | None, writer: str) -> bool:
    """Put a note on a branch that a commit is never to be published; False when it stands there already.

    A writer that still tries, on a state that it has read before this, finds the note when it publishes.
    """
    said = (RecoveryNote(GIVEN_UP, commit, commit, actor, writer, ()),)
    for _ in range(MAX_LOST_RACES):
        state = truth.state_of(ref)
        if find_in_chain(truth.chains, state.head, truth.chains.floor(ref.incarnation), commit) is not None:
            return False
        if state.head.closed:
            return True  # nothing can be put onto it any more
        note = note_plan(state, "recovery", ACTOR, f"{GIVEN_UP}: {writer} {commit}", recovery=said)
        with suppress(Contention):
            if isinstance(publish(truth, note, state, retries=0), Published):
                return True
    raise _too_busy(ref.name)


def _is_noted(records: list[CommitRecord], operation_id: str) -> bool:
    return any(note.operation_id == operation_id for record in records for note in record.recovery)


def _too_busy(branch: str) -> Contention:
    return Contention("other writers are too busy to let recovery leave its note: try again", branch=branch)


def _note_of(kind: str, plan: PublishPlan) -> RecoveryNote:
    tables = tuple(
        (item.key, plan.reads[identity].version if identity in plan.reads else 0, item.pin.version)
        for identity, item in sorted(plan.writes.items())
    )
    return RecoveryNote(kind, plan.operation_id, plan.commit, plan.actor, plan.operation, tables)
