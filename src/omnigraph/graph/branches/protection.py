"""Protecting a branch: a record that changes nothing and says what proposals into it need."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.base.errors import BadInput, Contention
from omnigraph.graph.manifest.record import Protection
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.conflict import branch_gone_error, protected_error
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.publish.plan import note_plan
from omnigraph.graph.publish.publisher import publish
from omnigraph.graph.publish.races import MAX_LOST_RACES

PROTECT = "branch_protect"
_MOST_APPROVALS = 100


def read_protection(approvals: object, checks: object) -> Protection:
    """Return a protection that a user has given, checked."""
    if not isinstance(approvals, int) or isinstance(approvals, bool) or not 0 <= approvals <= _MOST_APPROVALS:
        raise BadInput(f"approvals is {approvals!r}: give a whole number from 0 to {_MOST_APPROVALS}")
    if not isinstance(checks, Iterable) or isinstance(checks, str | bytes):
        raise BadInput(f"checks is {checks!r}: give a list of names of stored queries")
    names = tuple(dict.fromkeys(checks))
    if not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"checks is {checks!r}: give a list of names of stored queries")
    return Protection(approvals, names)


def protect_branch(truth: Truth, branch: str, protection: Protection | None, actor: str | None) -> None:
    """Give a branch a protection, or take it away; writers that are under way meet it or fail."""
    for _ in range(MAX_LOST_RACES):
        state = truth.state(branch)
        if state.head.closed:
            raise branch_gone_error(branch)
        if state.head.protects(state.ref.incarnation) == protection:
            return
        message = f"branch {branch!r} is {'protected' if protection else 'not protected any more'}"
        plan = note_plan(state, PROTECT, actor, message, sets_protection=True, protection=protection)
        try:
            if isinstance(publish(truth, plan, state, retries=0), Published):
                return
        except Contention:
            continue
    raise Contention(f"branch {branch!r} kept moving: try again", branch=branch)


def endable_state(truth: Truth, ref: BranchRef, actor: str | None) -> BranchState:
    """Return the state of a branch that is to be deleted; a protected one cannot be."""
    state = truth.state_of(ref)
    refuse_protected(state, actor, "branch_delete")
    return state


def refuse_protected(state: BranchState, actor: str | None, operation: str) -> None:
    """Refuse what would end a branch, or give it another history, while it is protected."""
    if state.head.protects(state.ref.incarnation) is not None:
        raise protected_error(state.ref.name, actor, operation)
