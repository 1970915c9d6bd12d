"""What became of a merge of a proposal that has no end: found by its key, or given up for good."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from omnigraph.base.clock import moment
from omnigraph.base.errors import Contention, CorruptState
from omnigraph.base.ids import new_commit_id
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.opening import Core
from omnigraph.graph.proposals.events import EventKind, StoredProposal
from omnigraph.graph.proposals.fold import MergeAttempt, ProposalFacts, fold
from omnigraph.graph.proposals.stored import ProposalContext, ReadProposal
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.publish.races import MAX_LOST_RACES
from omnigraph.graph.recovery.owner import is_alive
from omnigraph.graph.recovery.settle import give_up_commit, settle_abandoned
from omnigraph.graph.write.keys import KeyClaim, claim_key, find_landed, read_claim

OPERATION = "merge"
_GIVEN_UP: dict[str, Any] = {"why": "given_up"}
_log = logging.getLogger("omnigraph")


def settle_attempt(context: ProposalContext, read: ReadProposal, gives_up: bool) -> ReadProposal:
    """Add what became of a merge that has begun; unless it is known, leave it, or give it up.

    It is given up when the process that began it is gone, as far as that can be told; should it go on all the
    same, it cannot publish any more.
    """
    for _ in range(MAX_LOST_RACES):
        facts = fold(read.stored)
        attempt = facts.attempt
        if attempt is None:
            return read
        landed = _find_landed(context.core, facts, attempt)
        if landed is not None:
            read = _add(context, read, EventKind.MERGED, merged_facts(landed))
            continue
        if not gives_up:
            return read
        lease = context.core.settings.plan_lease_seconds
        if not attempt.is_given_up and is_alive(attempt.owner, attempt.key, attempt.at, lease):
            raise Contention(f"proposal {facts.id} is being merged: try again", proposal=facts.id)
        settle_abandoned(context.core.truth, context.core.settings)
        if _find_landed(context.core, facts, attempt) is not None:
            continue
        read = _give_up(context, read, facts, attempt)
    raise Contention("others kept changing the proposal: try again", proposal=read.stored.id)


def finish_merges(context: ProposalContext) -> None:
    """Note the merges that have landed and whose processes were killed, before keys are forgotten."""
    for stored in context.stored.read_all(context.stored.ids()):
        finish_merge(context, stored)


def finish_merge(context: ProposalContext, stored: StoredProposal) -> StoredProposal:
    """Return a proposal, among many, with what became of a merge that has landed.

    One whose merge cannot be told, because something is damaged, stops nobody who looks at the others.
    """
    if fold(stored).attempt is None:
        return stored
    try:
        return settle_attempt(context, context.stored.read(stored.id), gives_up=False).stored
    except CorruptState as error:
        _log.warning("what became of the merge of proposal %s is not known: %s", stored.id, error.message)
        return stored


def _give_up(
    context: ProposalContext, read: ReadProposal, facts: ProposalFacts, attempt: MergeAttempt
) -> ReadProposal:
    """End an attempt: keep it from beginning to write, then what it has begun from landing.

    The attempt stands until both are done, so whoever comes after one that was killed between them goes on.
    """
    truth = context.core.truth
    state = _target(context.core, facts, attempt)
    if state is None:
        return _add(context, read, EventKind.MERGE_ENDED, _GIVEN_UP)
    claim = _claim(context.core, state, attempt)
    if not attempt.is_given_up:
        given_up = context.stored.add(read, context.make_event(EventKind.MERGE_GIVEN_UP, {}))
        if given_up is None:
            return context.stored.read(facts.id)
        read = given_up
    if give_up_commit(truth, state.ref, claim.commit, context.actor, f"proposal {facts.id}"):
        return _add(context, read, EventKind.MERGE_ENDED, _GIVEN_UP)
    landed = find_landed(truth, truth.state_of(state.ref), claim)
    return read if landed is None else _add(context, read, EventKind.MERGED, merged_facts(landed))


def _find_landed(core: Core, facts: ProposalFacts, attempt: MergeAttempt) -> Published | None:
    state = _target(core, facts, attempt)
    claim = read_claim(core.truth, attempt.incarnation, attempt.key)
    return None if state is None or claim is None else find_landed(core.truth, state, claim)


def _claim(core: Core, state: BranchState, attempt: MergeAttempt) -> KeyClaim:
    """Return the claim of the attempt's key: that of the attempt, or the one that it will find."""
    incarnation = state.ref.incarnation
    return claim_key(core.truth, incarnation, attempt.key, new_commit_id(incarnation), OPERATION)


def _target(core: Core, facts: ProposalFacts, attempt: MergeAttempt) -> BranchState | None:
    """Return the target's chain that the attempt was to write to; None when nothing is left of it."""
    incarnation = attempt.incarnation
    if incarnation == core.truth.stamp.main:
        return core.truth.state_of(core.truth.stamp.main_ref)
    if core.truth.has(facts.into):
        state = core.truth.state(facts.into)
        if state.ref.incarnation == incarnation:
            return state
    newest = core.truth.newest_of(incarnation)
    return None if newest is None else BranchState(BranchRef(facts.into, incarnation, None), newest, moment())


def merged_facts(published: Published) -> dict[str, Any]:
    """Return what the event says that a proposal was merged."""
    told = published.answer
    return {"commit": published.commit, "outcome": told.get("outcome", "merged"), "base": told.get("base")}


def _add(context: ProposalContext, read: ReadProposal, kind: EventKind, told: dict[str, Any]) -> ReadProposal:
    """Add an event; a reader, who may not, sees it as if it were there."""
    if not context.can_write:
        stored = replace(read.stored, events=(*read.stored.events, context.make_event(kind, told)))
        return ReadProposal(stored, read.etag)
    return context.stored.add(read, context.make_event(kind, told)) or context.stored.read(read.stored.id)
