"""What a target demands of a proposal, and which verdicts count: pure decisions over facts."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from omnigraph.graph.manifest.record import CommitRecord, Protection
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.proposals.fold import ProposalFacts, Verdict
from omnigraph.graph.proposals.model import Reason, Review


@dataclass(frozen=True, slots=True)
class Demands:
    """What must be, before a proposal is merged."""

    approvals: int
    checks: tuple[str, ...]
    protection: Protection | None
    """That of the target, which the merge must find as it is."""


def demands_on(facts: ProposalFacts, protection: Protection | None, approvals_by_policy: int) -> Demands:
    """Return what a proposal must meet: what its target asks for, and what it asks for itself."""
    rule = protection or Protection(0)
    checks = tuple(dict.fromkeys((*rule.checks, *facts.checks)))
    return Demands(max(rule.approvals, approvals_by_policy), checks, protection)


def counts_now(verdict: Verdict, facts: ProposalFacts, source: CommitRecord | None) -> bool:
    """Return whether a verdict is about what would be merged now."""
    return source is not None and verdict.content == source.content and verdict.digest == facts.digest


def list_approvals(
    facts: ProposalFacts, source: CommitRecord | None, involved: Set[str]
) -> tuple[Review, ...]:
    """Return who has approved; `involved` are those who had a part in what is merged."""
    return tuple(
        _show(verdict, counts_now(verdict, facts, source) and verdict.actor not in involved)
        for verdict in facts.verdicts.values()
        if verdict.approves
    )


def list_requests(facts: ProposalFacts, source: CommitRecord | None) -> tuple[Review, ...]:
    """Return who wants changes; a request is answered by a push, or by other answers to conflicts."""
    return tuple(
        _show(verdict, counts_now(verdict, facts, source))
        for verdict in facts.verdicts.values()
        if not verdict.approves
    )


def find_reasons(
    facts: ProposalFacts, source: CommitRecord | None, involved: Set[str], demands: Demands
) -> tuple[Reason, ...]:
    """Return what people must do before the proposal may be merged."""
    reasons = [
        Reason("changes_requested", f"{verdict.actor} has asked for changes of commit {verdict.commit}")
        for verdict in list_requests(facts, source)
        if verdict.is_current
    ]
    approvals = list_approvals(facts, source, involved)
    given = sum(approval.is_current for approval in approvals)
    if given < demands.approvals:
        void = len(approvals) - given
        reasons.append(
            Reason(
                "approvals_missing",
                f"{given} of {demands.approvals} approvals of commit {source.commit if source else '-'}"
                + (f"; {void} given for something else do not count" if void else ""),
            )
        )
    return tuple(reasons)


def gone_reasons(
    facts: ProposalFacts, source: BranchState | None, target: BranchState | None
) -> tuple[Reason, ...]:
    """Return that branches are gone, and which."""
    named = (("source_gone", facts.source, source), ("target_gone", facts.into, target))
    return tuple(
        Reason(code, f"there is no branch {name!r} any more") for code, name, state in named if state is None
    )


def _show(verdict: Verdict, is_current: bool) -> Review:
    return Review(verdict.actor, verdict.commit, verdict.event.made_at, is_current, verdict.text)
