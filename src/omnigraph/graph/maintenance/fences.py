"""Putting up fences: one commit of maintenance on every live branch, before any file goes."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.base.errors import Contention
from omnigraph.base.ids import new_ulid
from omnigraph.graph.manifest.record import CommitClass, Fence
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.publish.publisher import Published, publish

_TRIES = 32


def put_fences(
    truth: Truth, branches: Iterable[BranchState], grace: float, actor: str | None, message: str | None
) -> Fence:
    """Put the next fence onto every branch; from then on nobody publishes files that it does not spare."""
    states = list(branches)
    fence = Fence(1 + max(state.head.fence.count for state in states), grace)
    for state in states:
        _put(truth, state, fence, actor, message)
    return fence


def _put(truth: Truth, state: BranchState, fence: Fence, actor: str | None, message: str | None) -> None:
    commit = new_ulid()
    for _ in range(_TRIES):
        head = state.head
        if head.closed or head.fence.count >= fence.count:
            return  # deleted meanwhile, or fenced by another cleanup that has seen the same
        plan = PublishPlan(
            commit=commit,
            operation_id=commit,
            branch=state.ref.name,
            incarnation=state.ref.incarnation,
            base=head.ref,
            expected_schema=head.schema,
            operation="cleanup",
            commit_class=CommitClass.MAINTENANCE,
            reads={},
            writes={},
            actor=actor,
            message=message,
            fence=fence,
        )
        try:
            if isinstance(publish(truth, plan, state, retries=0), Published):
                return
        except Contention:
            pass
        state = truth.refresh(state)
    raise Contention(
        f"branch {state.ref.name!r} is too busy to be cleaned up: try again", branch=state.ref.name
    )
