"""Merging a proposal: begun once, carried out as work for `commit`, and noted when it has landed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace

from omnigraph.base.errors import MergeConflicts, NotMergeable, OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import to_full_object
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.merge.run import Merge, run_merge
from omnigraph.graph.proposals.demands import demands_on, find_reasons, gone_reasons
from omnigraph.graph.proposals.events import EventKind
from omnigraph.graph.proposals.fold import ProposalFacts, fold
from omnigraph.graph.proposals.model import Reason
from omnigraph.graph.proposals.settle import settle_attempt
from omnigraph.graph.proposals.sides import involved_in, look_at_sides
from omnigraph.graph.proposals.stored import ProposalContext, ReadProposal
from omnigraph.graph.proposals.verbs import closed_error
from omnigraph.graph.proposals.work import ProposalMerge, RunChecks, not_mergeable
from omnigraph.graph.publish.outcome import may_have_landed
from omnigraph.graph.publish.races import MAX_LOST_RACES
from omnigraph.graph.recovery.owner import in_flight, this_process
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.write.work import CommitRequest


def merge_proposal(
    context: ProposalContext,
    id: str,
    request: CommitRequest,
    run_checks: RunChecks,
    approvals_by_policy: int = 0,
    and_delete: Callable[[str, BranchState], None] | None = None,
    seen: CommitRecord | None = None,
) -> Merge:
    """Merge a proposal, only as it was `seen`; one that is merged already answers with its commit."""
    settle_abandoned(context.core.truth, context.core.settings)
    with ExitStack() as flight:
        begun = _begin(context, id, request, approvals_by_policy, flight)
        if isinstance(begun, Merge):
            return begun
        facts, key = fold(begun.read.stored), begun.key
        work = ProposalMerge(
            context.core,
            facts,
            run_checks,
            approvals_by_policy,
            lambda: _still_merging(context, id, key),
            seen,
            context.find_pairs,
        )
        merged = _merge(context, begun, work, replace(request, key=key, proposal=id))
    if and_delete is None:
        return merged
    try:
        and_delete(facts.source, work.source_state)
    except OmniError as error:
        return replace(merged, branch_delete_error=error.message)
    return replace(merged, branch_deleted=True)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A merge that has begun: the proposal as it was then, and the key of the attempt."""

    read: ReadProposal
    key: str


def _merge(context: ProposalContext, begun: _Begun, work: ProposalMerge, request: CommitRequest) -> Merge:
    """Carry out a merge that has begun, and add how it has ended."""
    try:
        merged = run_merge(context.core, work, fold(begun.read.stored).source, request)
    except OmniError as error:
        if not may_have_landed(error):
            _end(context, begun, error)
        raise
    hit(Failpoint.PROPOSAL_BEFORE_MERGED)
    told: dict[str, object] = {
        "commit": merged.commit_id,
        "outcome": merged.outcome,
        "base": merged.base,
        "source_commit": work.source_state.head.commit,
        "checks": [to_full_object(check) for check in work.checks],
    }
    # What has landed was merged, whatever others have said meanwhile. Where nothing was to be done nothing
    # has kept the proposal from being closed.
    ended = _note(context, begun, EventKind.MERGED, told, is_sure=merged.commit_id is not None)
    if ended is not None and ended.merged is None:
        raise _given_up_error(ended)
    return merged


def _begin(
    context: ProposalContext, id: str, request: CommitRequest, approvals_by_policy: int, flight: ExitStack
) -> _Begun | Merge:
    """Say that a merge begins, so that nobody decides anything meanwhile; refuse what cannot be merged yet.

    It is `flight` that tells others in this process that the merge lives.
    """
    for _ in range(MAX_LOST_RACES):
        read = context.stored.read(id)
        if fold(read.stored).attempt is not None:
            read = settle_attempt(context, read, gives_up=True)
        facts = fold(read.stored)
        if facts.merged is not None:
            return merge_before(facts)
        if facts.state != "open":
            raise closed_error(facts)
        _refuse_early(context, facts, approvals_by_policy)
        key = f"proposal/{id}/{new_ulid()}"
        told = {"key": key, "incarnation": request.incarnation, "owner": list(astuple(this_process()))}
        with ExitStack() as mine:  # under a key that no other try has: who loses takes back only his own
            mine.enter_context(in_flight(key))
            started = context.stored.add(read, context.make_event(EventKind.MERGE_STARTED, told))
            if started is not None:
                flight.push(mine.pop_all())
                hit(Failpoint.PROPOSAL_AFTER_START)
                return _Begun(started, key)
    raise not_mergeable(fold(context.stored.read(id).stored), [Reason("busy", "others kept changing it")])


def _refuse_early(context: ProposalContext, facts: ProposalFacts, approvals_by_policy: int) -> None:
    """Refuse what people have not settled yet, before anything is written; it is decided again at the end."""
    sides = look_at_sides(context.core.truth, facts)
    if sides.source is None or sides.target is None:
        raise not_mergeable(facts, gone_reasons(facts, sides.source, sides.target))
    protection = sides.target.head.protects(sides.target.ref.incarnation)
    demands = demands_on(facts, protection, approvals_by_policy)
    involved = involved_in(context.core.truth, facts, sides.target.head, sides.source.head)
    reasons = find_reasons(facts, sides.source.head, involved, demands)
    if reasons:
        raise not_mergeable(facts, reasons)


def merge_before(facts: ProposalFacts) -> Merge:
    """Return what the merge of a merged proposal was."""
    assert facts.merged is not None
    told = facts.merged.facts
    commit = told.get("commit")
    return Merge(told["outcome"], commit, facts.source, facts.into, told.get("base") or "")


def _still_merging(context: ProposalContext, id: str, key: str) -> ProposalFacts:
    """Return a proposal that is being merged by this very attempt, and by nobody else."""
    facts = fold(context.stored.read(id).stored)
    if not _is_at(facts, key):
        raise _given_up_error(facts)
    return facts


def _is_at(facts: ProposalFacts, key: str) -> bool:
    attempt = facts.attempt
    return attempt is not None and attempt.key == key and not attempt.is_given_up


def _given_up_error(facts: ProposalFacts) -> NotMergeable:
    """Return the error for a merge that others have ended."""
    if facts.merged is not None:
        return not_mergeable(facts, [Reason("merged", "others have merged it meanwhile")])
    return not_mergeable(facts, [Reason("given_up", "others have taken this merge for dead")])


def _end(context: ProposalContext, begun: _Begun, error: OmniError) -> None:
    told: dict[str, object] = {"why": error.code}
    if isinstance(error, NotMergeable):
        told |= {"reasons": error.details["reasons"], "checks": error.details["checks"]}
    if isinstance(error, MergeConflicts):
        told["conflicts"] = len(error.conflicts)
    _note(context, begun, EventKind.MERGE_ENDED, told)


def _note(
    context: ProposalContext,
    begun: _Begun,
    kind: EventKind,
    told: dict[str, object],
    is_sure: bool = False,
) -> ProposalFacts | None:
    """Add how a merge has ended, after whatever others have added meanwhile.

    Returns what the proposal is when nothing was added: others have ended this attempt, and perhaps begun
    another. What is sure is added all the same, unless they have said it.
    """
    read = begun.read
    for _ in range(MAX_LOST_RACES):
        facts = fold(read.stored)
        if facts.merged is not None or not (is_sure or _is_at(facts, begun.key)):
            return facts
        if context.stored.add(read, context.make_event(kind, told)) is not None:
            return None
        read = context.stored.read(read.stored.id)
    return None
