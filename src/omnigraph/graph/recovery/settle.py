"""Settling abandoned plans: the same publish applied again, or a note that says why not."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.base.errors import Contention, NotFound
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.base.settings import Settings
from omnigraph.graph.manifest.record import CommitClass, RecoveryNote
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.fit import Moved
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.publish.publisher import Published, publish
from omnigraph.graph.recovery import plans
from omnigraph.graph.recovery.owner import is_alive
from omnigraph.graph.recovery.plans import DurablePlan
from omnigraph.graph.recovery.restage import restaged

ACTOR = "omnigraph:recovery"
_TRIES = 32


def settle_abandoned(truth: Truth, settings: Settings) -> int:
    """Settle every plan whose writer is gone and return how many there were (one listing when none)."""
    settled = 0
    for path in plans.list_plans(truth.store):
        durable = plans.read_plan(truth.store, path)
        if durable is None or _writer_lives(durable, settings):
            continue
        _settle(truth, durable, settings)
        hit(Failpoint.RECOVERY_BEFORE_DELETE)
        plans.delete_plan(truth.store, durable.plan.operation_id)
        settled += 1
    return settled


def _writer_lives(durable: DurablePlan, settings: Settings) -> bool:
    return is_alive(durable.owner, durable.plan.operation_id, durable.created_at, settings.plan_lease_seconds)


def _settle(truth: Truth, durable: DurablePlan, settings: Settings) -> None:
    plan = durable.plan
    ref = _live_ref(truth, plan)
    if ref is None or not _settle_on_branch(truth, ref, plan, settings):
        _note(truth, truth.stamp.main_ref, "OrphanedBranchDiscarded", plan, durable.main_seq)


def _settle_on_branch(truth: Truth, ref: BranchRef, plan: PublishPlan, settings: Settings) -> bool:
    """Publish a plan, or note on its branch what became of it; False when the branch is gone."""
    state = truth.state_of(ref)
    if state.head.closed:
        return False
    if truth.find(plan.commit, state, plan.base.seq):
        return _note(truth, ref, "RolledForward", plan, plan.base.seq)
    if _is_noted(truth, ref, state, plan.operation_id, plan.base.seq):
        return True  # it was discarded before, and stays so whatever has changed since
    hit(Failpoint.RECOVERY_BEFORE_PUBLISH)
    forward = replace(plan, recovery=(_note_of("RolledForward", plan),))
    outcome = publish(truth, forward, state, settings.publish_retries)
    if isinstance(outcome, Moved):
        # Only maintenance came between: the content that the plan builds on is still the branch's.
        state = truth.refresh(state)
        again = restaged(truth, forward, state)
        if again is not None:
            publish(truth, again, state, settings.publish_retries)
    hit(Failpoint.RECOVERY_AFTER_PUBLISH)
    # It may stand there now by us, by another recovery or by its writer; then its note may stand there too.
    landed = truth.find(plan.commit, truth.refresh(state), plan.base.seq)
    return _note(truth, ref, "RolledForward" if landed else "RolledBack", plan, plan.base.seq)


def _live_ref(truth: Truth, plan: PublishPlan) -> BranchRef | None:
    if plan.branch == MAIN:
        ref = truth.stamp.main_ref
    else:
        try:
            ref = truth.state(plan.branch).ref
        except NotFound:
            return None
    return ref if ref.incarnation == plan.incarnation else None


def _note(truth: Truth, ref: BranchRef, kind: str, plan: PublishPlan, since: int) -> bool:
    """Record what became of a plan, exactly once, in a commit of its own; False when the branch is gone."""
    state = truth.state_of(ref)
    note = PublishPlan(
        commit=new_ulid(),
        operation_id=plan.operation_id,
        branch=ref.name,
        incarnation=ref.incarnation,
        base=state.head.ref,
        expected_schema=state.head.schema,
        operation="recovery",
        commit_class=CommitClass.MAINTENANCE,
        reads={},
        writes={},
        actor=ACTOR,
        message=f"{kind}: {plan.operation} {plan.commit}",
        recovery=(_note_of(kind, plan),),
    )
    for _ in range(_TRIES):
        if state.head.closed:
            return False
        if _is_noted(truth, ref, state, plan.operation_id, since):
            return True
        try:
            outcome = publish(truth, replace(note, expected_schema=state.head.schema), state, retries=0)
        except Contention:
            outcome = None
        if isinstance(outcome, Published):
            return True
        state = truth.refresh(state)
    raise Contention("other writers are too busy to let recovery leave its note: try again", branch=ref.name)


def _is_noted(truth: Truth, ref: BranchRef, state: BranchState, operation_id: str, since: int) -> bool:
    later = truth.chains.records(ref.incarnation, range(since + 1, state.head.seq + 1))
    return any(note.operation_id == operation_id for record in later for note in record.recovery)


def _note_of(kind: str, plan: PublishPlan) -> RecoveryNote:
    tables = tuple(
        (item.key, plan.reads[identity].version if identity in plan.reads else 0, item.pin.version)
        for identity, item in sorted(plan.writes.items())
    )
    return RecoveryNote(kind, plan.operation_id, plan.commit, plan.actor, plan.operation, tables)
