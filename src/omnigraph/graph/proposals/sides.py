"""The two branches of a proposal as they are now, and who had a part in what would be merged."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.base.errors import BranchGone, HistoricalVersionReclaimed, NotFound
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.merge_base import merge_base
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
    """Return who opened a proposal, wrote its commits, or saved the answers that stand."""
    found = {facts.author, *facts.answered_by}
    found.update(record.actor for record in _own_commits(truth, target, source))
    return frozenset(actor for actor in found if actor is not None)


def _own_commits(truth: Truth, target: CommitRecord, source: CommitRecord) -> list[CommitRecord]:
    """Return the changes of the source that the target does not have, along its first parents."""
    base = merge_base(truth.chains, target, source)
    past, found, record = Ancestry(truth.chains), [], source
    while record.commit != base.commit:
        inherited = record.incarnation != source.incarnation
        if inherited and merge_base(truth.chains, target, record).commit == record.commit:
            break
        if record.commit_class is CommitClass.LOGICAL:
            found.append(record)
        parent = past.at(record.parent) if record.parent is not None else None
        if parent is None:
            break
        record = parent
    return found
