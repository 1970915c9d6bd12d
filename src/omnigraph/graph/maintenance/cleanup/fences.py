"""Putting up fences: one commit of maintenance on every live branch, before any file goes."""

from __future__ import annotations

from omnigraph.base.errors import Contention
from omnigraph.base.ids import new_commit_id
from omnigraph.graph.maintenance.cleanup.survey import LiveNames, look
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.publish.plan import note_plan
from omnigraph.graph.publish.publisher import publish
from omnigraph.graph.publish.races import MAX_LOST_RACES


def put_fences(truth: Truth, number: int, actor: str | None, message: str | None) -> LiveNames:
    """Put the fence of a cleanup onto every live branch and return a look at which all of them had it.

    Whatever is published after that look was published by somebody who has met the fence, or on a branch that
    was made after it.
    """
    for _ in range(MAX_LOST_RACES):
        seen = look(truth)
        behind = [state for state in seen.branches if state.head.fence < number]
        if not behind:
            return seen
        for state in behind:
            _put(truth, state, number, actor, message)
    raise Contention("branches of this graph are made too fast for it to be cleaned up: try again")


def _put(truth: Truth, state: BranchState, fence: int, actor: str | None, message: str | None) -> None:
    commit = new_commit_id(state.ref.incarnation)
    for _ in range(MAX_LOST_RACES):
        if state.head.closed or state.head.fence >= fence:
            return  # deleted meanwhile, or fenced by another cleanup that has seen the same
        plan = note_plan(state, "cleanup", actor, message, commit=commit, operation_id=commit, fence=fence)
        try:
            if isinstance(publish(truth, plan, state, retries=0), Published):
                return
        except Contention:
            pass
        state = truth.refresh(state)
    raise Contention(
        f"branch {state.ref.name!r} is too busy to be cleaned up: try again", branch=state.ref.name
    )
