"""`publish`: the only function that makes a change visible."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.base.errors import Contention, Unavailable
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.fence import may_be_swept
from omnigraph.graph.publish.fit import Clashes, Moved, fit
from omnigraph.graph.publish.plan import PublishPlan, next_record


@dataclass(frozen=True, slots=True)
class Published:
    """The plan is visible as this commit."""

    record: CommitRecord


@dataclass(frozen=True, slots=True)
class Swept:
    """A cleanup may have taken files of the plan for leftovers: all of it must be staged again."""


Outcome = Published | Moved | Clashes | Swept


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
        if may_be_swept(truth, plan, state.head.fence):
            return Swept()
        record = next_record(plan, state)
        try:
            if truth.chains.put(record) and truth.stands(state, record):
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
