"""Proposals as users see them: their facts, beside what their branches are now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.base.plain import from_plain
from omnigraph.graph.proposals.demands import list_approvals, list_requests
from omnigraph.graph.proposals.events import EventKind, StoredEvent, StoredProposal
from omnigraph.graph.proposals.fold import fold
from omnigraph.graph.proposals.model import (
    CheckResult,
    Proposal,
    ProposalComment,
    ProposalEvent,
)
from omnigraph.graph.proposals.sides import find_base, involved_in, look_at_sides
from omnigraph.graph.proposals.stored import ProposalContext

_INTERNAL = ("owner", "digest", "incarnation", "idempotency_key")
"""Facts of events that are kept for the engine, and not shown."""


def describe_proposal(context: ProposalContext, stored: StoredProposal) -> Proposal:
    """Return a proposal with what its branches are now."""
    facts, truth = fold(stored), context.core.truth
    sides = look_at_sides(truth, facts)
    source = sides.source.head if sides.source is not None else None
    target = sides.target.head if sides.target is not None else None
    is_open = facts.state == "open"
    involved = (
        involved_in(truth, facts, target, source)
        if is_open and facts.verdicts and source is not None and target is not None
        else frozenset()
    )
    base = find_base(truth, target, source) if is_open and source is not None and target is not None else None
    merged = facts.merged.facts if facts.merged is not None else {}
    made = facts.created.facts
    return Proposal(
        id=facts.id,
        source=facts.source,
        into=facts.into,
        title=facts.title,
        description=str(made.get("description", "")),
        author=facts.author,
        state=facts.state,  # type: ignore[arg-type]
        created_at=facts.created.made_at,
        updated_at=stored.events[-1].made_at,
        source_commit=merged.get("source_commit") or (source.commit if source is not None else None),
        target_commit=target.commit if target is not None else None,
        base_commit=merged.get("base") or (base.commit if base is not None else None),
        strategy=facts.strategy,
        reviewers=tuple(made.get("reviewers", ())),
        comments=tuple(
            _comment(number, event)
            for number, event in enumerate(stored.events)
            if event.kind is EventKind.COMMENTED
        ),
        approvals=list_approvals(facts, source if is_open else None, involved),
        changes_requested=list_requests(facts, source if is_open else None),
        checks=tuple(from_plain(CheckResult, check) for check in facts.last_checks),
        resolutions=tuple(facts.answers),
        metadata=facts.metadata,
        same_as=tuple(facts.same_as),
        merged_commit=merged.get("commit"),
        events=list_events(stored),
    )


def list_events(stored: StoredProposal) -> tuple[ProposalEvent, ...]:
    """Return what has happened to a proposal, oldest first."""
    return tuple(
        ProposalEvent(event.kind.value, event.actor, event.made_at, _list_facts(event), stored.id, number)
        for number, event in enumerate(stored.events)
    )


def _comment(number: int, event: StoredEvent) -> ProposalComment:
    told = event.facts
    return ProposalComment(
        id=str(number),
        actor=event.actor,
        at=event.made_at,
        text=told["text"],
        commit=told.get("commit"),
        entity=told.get("entity"),
    )


def _list_facts(event: StoredEvent) -> Mapping[str, Any]:
    return {name: value for name, value in event.facts.items() if name not in _INTERNAL}
