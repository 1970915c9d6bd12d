"""The two branches of a proposal as they are now, and who had a part in what would be merged."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.base.errors import BranchGone, HistoricalVersionReclaimed, NotFound, PreconditionFailed
from omnigraph.graph.manifest.lineage import list_involved
from omnigraph.graph.manifest.merge_base import list_apart, merge_base
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.proposals.fold import ProposalFacts


@dataclass(frozen=True, slots=True)
class ProposalSides:
    """Source and target; None for a branch that is gone."""

    source: BranchState | None
    target: BranchState | None


def look_at_sides(truth: Truth, facts: ProposalFacts) -> ProposalSides:
    """Return the newest states of the branches of a proposal."""
    return ProposalSides(_find(truth, facts.source), _find(truth, facts.into))


def refuse_unseen(source: str, head: CommitRecord, seen: CommitRecord) -> None:
    """Raise `PreconditionFailed` when a source says something else than what was looked at."""
    if seen.content != head.content:
        raise PreconditionFailed(
            f"branch {source!r} is at commit {head.commit}, not at {seen.commit} any more: look again",
            branch=source,
            expected=seen.commit,
            actual=head.commit,
        )


def _find(truth: Truth, branch: str) -> BranchState | None:
    try:
        state = truth.state(branch)
    except (NotFound, BranchGone):
        return None
    return None if state.head.closed else state


def find_base(truth: Truth, target: CommitRecord, source: CommitRecord) -> CommitRecord | None:
    """Return what both began from; None when a cleanup has taken what tells."""
    try:
        return merge_base(truth.chains, target, source)
    except (HistoricalVersionReclaimed, NotFound):
        return None


def involved_in(
    truth: Truth, facts: ProposalFacts, target: CommitRecord, source: CommitRecord
) -> frozenset[str]:
    """Return who opened a proposal, wrote what it brings, or saved standing answers.

    What came by merges counts, and who picked a commit or rebased it had a part in it, too.
    """
    found = {actor for actor in (facts.author, *facts.answered_by) if actor is not None}
    for record in _own_commits(truth, target, source):
        found |= list_involved(record)
    return frozenset(found)


def _own_commits(truth: Truth, target: CommitRecord, source: CommitRecord) -> list[CommitRecord]:
    """Return the changes that the source has and the target has not, those of merged branches among them."""
    apart = list_apart(truth.chains, source, target)
    return [record for record in apart if record.commit_class is CommitClass.LOGICAL]
