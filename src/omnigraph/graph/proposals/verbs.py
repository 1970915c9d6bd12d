"""Changing a proposal: it is read, something is decided, and an event is added to what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omnigraph.base.errors import Conflict, Contention, ProposalClosed
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.proposals.events import EventKind, StoredProposal
from omnigraph.graph.proposals.fold import ProposalFacts, fold
from omnigraph.graph.proposals.settle import finish_merge, settle_attempt
from omnigraph.graph.proposals.stored import ProposalContext, ReadProposal
from omnigraph.graph.publish.races import MAX_LOST_RACES

Decide = Callable[[ProposalFacts], Mapping[str, Any] | None]
"""Returns the facts of an event to add to a proposal; None when there is nothing to add; or raises."""


def read_proposal(context: ProposalContext, id: str) -> ReadProposal:
    """Return a proposal as it is; a merge of it that was killed after its commit is finished first."""
    read = context.stored.read(id)
    if fold(read.stored).attempt is not None:
        read = settle_attempt(context, read, gives_up=False)
    return read


def read_all(context: ProposalContext, ids: list[str]) -> Iterator[StoredProposal]:
    """Yield proposals as they are; merges that were killed after their commits are finished."""
    for stored in context.stored.read_all(ids):
        yield finish_merge(context, stored)


def add_event(
    context: ProposalContext, id: str, kind: EventKind, decide: Decide, only_open: bool = True
) -> ReadProposal:
    """Add an event that is decided on what the proposal is when it is added.

    What decides something waits for no merge that is under way: it ends, or this fails as contention.
    """
    for _ in range(MAX_LOST_RACES):
        read = context.stored.read(id)
        facts = fold(read.stored)
        if facts.attempt is not None and kind is not EventKind.COMMENTED:
            read = settle_attempt(context, read, gives_up=True)
            facts = fold(read.stored)
        if only_open and facts.state != "open":
            raise closed_error(facts)
        told = decide(facts)
        if told is None:
            return read
        added = context.stored.add(read, context.make_event(kind, told))
        if added is not None:
            return added
    raise Contention(f"others kept changing proposal {id}: try again", proposal=id)


def was_said(facts: ProposalFacts, actor: str | None, told: Mapping[str, Any]) -> bool:
    """Return whether a comment was added before under its idempotency key; refuse another one under it."""
    key = told.get("idempotency_key")
    before = None if key is None else facts.said.get((actor, key))
    if before is None:
        return False
    if any(before.facts.get(name) != told.get(name) for name in ("text", "entity")):
        raise Conflict(
            f"idempotency key {key!r} was used for another comment: use a key for one comment", key=key
        )
    return True


def closed_error(facts: ProposalFacts) -> ProposalClosed:
    """Return the error for what can be done with an open proposal alone."""
    instead = "open another one" if facts.state == "merged" else "reopen it first"
    return ProposalClosed(
        f"proposal {facts.id} is {facts.state}: {instead}", proposal=facts.id, state=facts.state
    )


def verdict_of(facts: ProposalFacts, source: CommitRecord, text: str) -> dict[str, Any]:
    """Return what a verdict is about: the source's content, and the answers that are saved now."""
    told = {"commit": source.commit, "content": source.content, "digest": facts.digest}
    return {**told, "text": text} if text else told
