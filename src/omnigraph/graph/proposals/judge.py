"""Whether a proposal can be merged now: the merge is planned, and the checks are run on its result."""

from __future__ import annotations

from omnigraph.graph.manifest.merge_base import Outcome
from omnigraph.graph.merge.plan import MergePlan
from omnigraph.graph.opening import Core
from omnigraph.graph.proposals.demands import demands_on, find_reasons, gone_reasons, list_approvals
from omnigraph.graph.proposals.events import StoredProposal
from omnigraph.graph.proposals.fold import ProposalFacts, fold
from omnigraph.graph.proposals.model import (
    CheckResult,
    Mergeability,
    Reason,
)
from omnigraph.graph.proposals.sides import ProposalSides, involved_in, look_at_sides
from omnigraph.graph.proposals.stored import ProposalContext
from omnigraph.graph.proposals.work import ProposalMerge, RunChecks, reasons_of_checks
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.unnamed import commit_in_line
from omnigraph.graph.write.work import CommitRequest
from omnigraph.graph.write.write_state import WriteBase

_UNSEEN = "not run: what is merged has to be staged, and this handle may not write"


def judge_proposal(
    context: ProposalContext,
    stored: StoredProposal,
    run_checks: RunChecks,
    approvals_by_policy: int,
) -> Mergeability:
    """Return whether a proposal can be merged now; checks are run on what the merge would make."""
    facts, truth = fold(stored), context.core.truth
    sides = look_at_sides(truth, facts)
    reasons: list[Reason] = []
    if facts.state != "open":
        reasons.append(Reason(facts.state, f"the proposal is {facts.state}"))
    elif facts.attempt is not None:
        reasons.append(Reason("being_merged", "the proposal is being merged"))
    if sides.source is None or sides.target is None or facts.state != "open":
        gone = gone_reasons(facts, sides.source, sides.target) if facts.state == "open" else ()
        return Mergeability(False, (*reasons, *gone))
    target, source = sides.target.head, sides.source.head
    protection = target.protects(sides.target.ref.incarnation)
    demands = demands_on(facts, protection, approvals_by_policy)
    involved = involved_in(truth, facts, target, source)
    reasons += find_reasons(facts, source, involved, demands)
    find_pairs = context.find_pairs if context.can_write else None
    unseen = _list_queries(facts) if find_pairs is None else ()
    work = ProposalMerge(context.core, facts, run_checks, approvals_by_policy, find_pairs=find_pairs)
    plan = work.explain(plan_proposal(context.core, work, sides))
    if plan.conflicts:
        reasons.append(Reason("conflicts", f"conflicts that wait for an answer: {len(plan.conflicts)}"))
    elif demands.checks:
        reasons += reasons_of_checks(_check(context, work, plan, sides, demands.checks, run_checks))
    return Mergeability(
        mergeable=not reasons,
        reasons=tuple(reasons),
        outcome=plan.outcome.value,
        conflicts=plan.conflicts,
        checks=(*work.checks, *(CheckResult(name, True, error=_UNSEEN) for name in unseen)),
        approvals=list_approvals(facts, source, involved),
        approvals_needed=demands.approvals,
        counts=plan.counts,
        source_commit=source.commit,
        target_commit=target.commit,
    )


def _list_queries(facts: ProposalFacts) -> tuple[str, ...]:
    """Return the stored queries that find one thing under two ids: they ask about what would be staged."""
    return tuple(str(rule["query"]) for rule in facts.same_as if rule.get("query") is not None)


def plan_proposal(core: Core, work: ProposalMerge, sides: ProposalSides) -> MergePlan:
    """Return what merging would do; nothing is written."""
    assert sides.target is not None
    base = WriteBase(core.truth.store, sides.target)
    work.stage(base)
    return work.plan_on(base)


def _check(
    context: ProposalContext,
    work: ProposalMerge,
    plan: MergePlan,
    sides: ProposalSides,
    names: tuple[str, ...],
    run_checks: RunChecks,
) -> tuple[CheckResult, ...]:
    """Run the checks on the result: theirs as it is, or one that is staged and belongs to no branch."""
    core, target = context.core, sides.target
    assert target is not None
    into = target.ref.name
    if plan.outcome is not Outcome.MERGED:
        theirs = plan.sides.theirs if plan.outcome is Outcome.FAST_FORWARD else target.head
        work.checks = run_checks(Snapshot(core, theirs, into), Snapshot(core, target.head, into), names)
        return work.checks
    if context.can_write:
        # What is staged for looking at it is removed by the next cleanup, like that of a dry run of a rebase.
        request = CommitRequest(into, context.actor, incarnation=target.ref.incarnation)
        line = commit_in_line(core.truth, core.settings, [(request, work)], target, {}, put=False)
        if not line.records:
            work.inspect(target.head)
        return work.checks
    work.checks = tuple(CheckResult(name, True, error=_UNSEEN) for name in names)
    return work.checks
