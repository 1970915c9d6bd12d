"""`commit`: the life of one write, from the healed branch to the published record."""

from __future__ import annotations

from omnigraph.base.settings import Settings
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.publish.conflict import (
    batch_landed_error,
    branch_gone_error,
    precondition_error,
    protected_error,
)
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.write.integrity.blob_sources import allow_sources
from omnigraph.graph.write.keys import find_landed, used_by_another_error
from omnigraph.graph.write.prepare import Preparation, claim_request
from omnigraph.graph.write.retry_lost_races import RetriedWrite
from omnigraph.graph.write.work import CommitRequest, CommitWork


def commit(truth: Truth, settings: Settings, request: CommitRequest, work: CommitWork) -> Published | None:
    """Carry out work as one commit; None when it changed nothing.

    A repeatable work that loses a race is applied again to the newer state, with the data files that it
    has written already. Maintenance never makes any work fail: its result is applied again as well.
    """
    settle_abandoned(truth, settings)
    state = truth.state(request.branch)
    if request.incarnation not in (None, state.ref.incarnation):
        raise branch_gone_error(request.branch)
    claim = claim_request(truth, request, state.ref.incarnation, work)
    if claim is not None and (first := find_landed(truth, state, claim)) is not None:
        if request.guard is not None and (first.record is None or first.record.actor != request.actor):
            raise used_by_another_error(claim)  # its answer may count hidden rows
        return first
    if (
        request.proposal is None
        and work.commit_class is CommitClass.LOGICAL
        and state.head.protects(state.ref.incarnation) is not None
    ):
        raise protected_error(request.branch, request.actor, work.operation)
    if request.if_commit and (error := precondition_error(request.if_commit, state.head, request.branch)):
        raise error
    if (repeated := batch_landed_error(request.streams, state.head, request.branch)) is not None:
        raise repeated
    with allow_sources(request.blob_sources):
        return RetriedWrite(Preparation(truth, settings, request, work, state, claim)).run()
