"""`publish`: the only function that makes a change visible."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.base.errors import Contention, Unavailable
from omnigraph.graph.manifest.chain import stamp_time
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.fit import Clashes, Moved, fit
from omnigraph.graph.publish.plan import PublishPlan


@dataclass(frozen=True, slots=True)
class Published:
    """The plan is visible as this commit."""

    record: CommitRecord


Outcome = Published | Moved | Clashes


def publish(truth: Truth, plan: PublishPlan, state: BranchState, retries: int) -> Outcome:
    """Put the plan's record after the newest one, if the plan still fits there.

    `state` is the newest state of the branch that the caller knows. Each lost race reads what is newest
    then, compares again and takes a new parent; the commit id stays (invariants 2 and 4).
    """
    failure: Unavailable | None = None
    for _ in range(retries + 1):
        verdict = fit(plan, state.head)
        if isinstance(verdict, Clashes | Moved):
            return verdict
        record = next_record(plan, state)
        try:
            if truth.chains.put(record):
                truth.learn(state, record)
                return Published(record)
        except Unavailable as error:
            if not error.retryable:
                raise
            # Perhaps it arrived all the same: under the same number it can be put again without harm.
            failure = error
        state = truth.refresh(state)
        # It may stand there by now: its acknowledgement was lost, or recovery has published it.
        if (landed := truth.find(plan.commit, state, after=record.seq - 1)) is not None:
            return Published(landed)
    if failure is not None:
        raise failure
    raise Contention(
        f"other writers of branch {plan.branch!r} were faster {retries + 1} times in a row: try again",
        branch=plan.branch,
        tries=retries + 1,
    )


def next_record(plan: PublishPlan, state: BranchState) -> CommitRecord:
    """Return the record that would publish this plan on top of this state."""
    head = state.head
    tables = dict(head.tables)
    for identity in plan.drops:
        tables.pop(identity, None)
    logical = plan.commit_class is CommitClass.LOGICAL
    for identity, written in plan.writes.items():
        tables[identity] = written.entry(plan.commit if logical else head.tables[identity].changed_by)
    return CommitRecord(
        commit=plan.commit,
        seq=head.seq + 1,
        branch=plan.branch,
        incarnation=plan.incarnation,
        parent=head.ref,
        schema=plan.schema or head.schema,
        tables=tables,
        created_at=stamp_time(plan.commit, head),
        operation=plan.operation,
        commit_class=plan.commit_class,
        content=plan.commit if logical else head.content,
        actor=plan.actor,
        message=plan.message,
        merged_parent=plan.merged_parent,
        streams={**head.streams, **plan.streams},
        recovery=plan.recovery,
    )
