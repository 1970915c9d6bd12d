"""Proposals in a history: made, approved, merged and closed as the SDK does it, on simulated tables."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.base.errors import NotFound
from omnigraph.base.ids import new_ulid
from omnigraph.graph.branches.protection import protect_branch
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord, Protection
from omnigraph.graph.merge.run import Merge
from omnigraph.graph.opening import Core
from omnigraph.graph.proposals.events import EventKind, decode_proposal
from omnigraph.graph.proposals.fold import ProposalFacts, fold
from omnigraph.graph.proposals.merge import merge_proposal
from omnigraph.graph.proposals.settle import finish_merges
from omnigraph.graph.proposals.stored import ProposalContext
from omnigraph.graph.proposals.verbs import add_event, verdict_of
from omnigraph.graph.proposals.work import ProposalMerge
from omnigraph.graph.write.work import CommitRequest
from simulation.control_plane.store import SimulatedStore
from simulation.control_plane.tables import SimulatedMerge

REVIEWER = "reviewer"


class SimulatedProposalMerge(ProposalMerge, SimulatedMerge):
    """`ProposalMerge` on simulated tables."""


def protect(core: Core, branch: str, approvals: int | None, actor: str) -> None:
    """Protect a branch, or take its protection away."""
    protect_branch(core.truth, branch, None if approvals is None else Protection(approvals), actor)


def propose(core: Core, source: str, into: str, actor: str) -> str:
    """Propose to merge a branch into another, and have a reviewer approve it as it is."""
    context = ProposalContext(core, actor)
    for branch in (source, into):
        core.truth.state(branch)
    told = {"source": source, "into": into, "title": source}
    created = context.stored.create(new_ulid(), context.make_event(EventKind.CREATED, told))
    assert created is not None
    approve(core, created.id)
    return created.id


def approve(core: Core, id: str) -> None:
    """Let the reviewer approve a proposal as its source is now."""

    def decide(facts: ProposalFacts) -> dict[str, object]:
        return verdict_of(facts, core.truth.state(facts.source).head, "")

    add_event(ProposalContext(core, REVIEWER), id, EventKind.APPROVED, decide)


def merge(core: Core, source: str, into: str, actor: str) -> tuple[str, Merge]:
    """Merge the newest proposal of a branch into another; say which one it was."""
    context = ProposalContext(core, actor)
    facts = _newest(context, source, into)
    incarnation = core.truth.state(into).ref.incarnation
    request = CommitRequest(into, actor, durable=True, incarnation=incarnation)
    return facts.id, merge_proposal(context, facts.id, request, lambda *_: ())


def close(core: Core, source: str, into: str, actor: str) -> str:
    """Close the newest proposal of a branch into another."""
    context = ProposalContext(core, actor)
    facts = _newest(context, source, into)
    add_event(context, facts.id, EventKind.CLOSED, lambda _: {})
    return facts.id


def finish(core: Core, store: SimulatedStore, actor: str) -> None:
    """Finish merges that were cut off, as a cleanup does first; no request where there are no proposals."""
    if any(stored_proposals(store)):
        finish_merges(ProposalContext(core, actor))


def stored_proposals(store: SimulatedStore) -> Iterator[ProposalFacts]:
    """Yield all proposals as they are stored."""
    for path, item in store.objects.items():
        if path.startswith(f"{layout.PROPOSALS}/"):
            yield fold(decode_proposal(item.data, path))


def check_proposals(
    store: SimulatedStore, ancestors: list[CommitRecord], acknowledged: list[tuple[str, Merge]]
) -> Iterator[str]:
    """Yield what is wrong with proposals; `ancestors` are all commits that heads come from."""
    merged: dict[str, set[str]] = {}
    for record in ancestors:
        if "proposal" in record.metadata:
            merged.setdefault(record.metadata["proposal"], set()).add(record.commit)
    found = {facts.id: facts for facts in stored_proposals(store)}
    for id, facts in found.items():
        commits = merged.get(id, set())
        if len(commits) > 1:
            yield f"proposal {id} was merged more than once: {sorted(commits)}"
        if commits and facts.is_closed and facts.merged is None:
            yield f"proposal {id} is closed, and was merged as {sorted(commits)}"
        if commits and facts.merged is not None and facts.merged.facts["commit"] not in commits:
            yield f"proposal {id} says it was merged as {facts.merged.facts['commit']}, not as {commits}"
    for id, done in acknowledged:
        if found[id].merged is None:
            yield f"proposal {id} is {found[id].state}, but was acknowledged as merged by {done.commit_id}"


def check_protection(records: dict[tuple[str, int], CommitRecord]) -> Iterator[str]:
    """Yield what has changed a protected branch directly, and where a protection was lost on the way."""
    for (chain, seq), record in records.items():
        before = records.get((chain, seq - 1))
        if before is None or record.closed:
            continue
        stands = before.protects(chain)
        if record.operation == "branch_protect":
            continue
        if record.protects(chain) != stands:
            yield f"{record.ref} has the protection {record.protection}, and the commit before it {stands}"
        if (
            stands is not None
            and record.operation not in _CHANGE_NOTHING
            and "proposal" not in record.metadata
        ):
            yield f"{record.ref} ({record.operation}) has changed a protected branch"


_CHANGE_NOTHING = ("cleanup", "recovery", "optimize", "rebase", "branch_restore")


def _newest(context: ProposalContext, source: str, into: str) -> ProposalFacts:
    for stored in context.stored.read_all(context.stored.ids()):
        facts = fold(stored)
        if (facts.source, facts.into) == (source, into):
            return facts
    raise NotFound(f"nobody has proposed to merge {source!r} into {into!r}")
