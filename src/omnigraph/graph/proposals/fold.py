"""What a proposal is, from its events: a pure fold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.graph.proposals.events import EventKind, StoredEvent, StoredProposal
from omnigraph.graph.recovery.owner import Owner

SavedAnswer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer has last said about a state of the source, and of the answers."""

    actor: str
    approves: bool
    commit: str
    content: str
    digest: str
    event: StoredEvent

    @property
    def text(self) -> str:
        """Why."""
        return str(self.event.facts.get("text", ""))


@dataclass(frozen=True, slots=True)
class MergeAttempt:
    """A merge that has begun and of which no end is known."""

    key: str
    incarnation: str
    """The target's chain."""
    owner: Owner
    at: int
    is_given_up: bool = False
    """Whether others have taken it for dead, and are at seeing to it that it never lands."""


@dataclass
class ProposalFacts:
    """A proposal as it stands after some events."""

    id: str
    created: StoredEvent
    is_closed: bool = False
    merged: StoredEvent | None = None
    attempt: MergeAttempt | None = None
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """By actor."""
    answers: list[SavedAnswer] = field(default_factory=list)
    answered_by: list[str | None] = field(default_factory=list)
    """Who has saved each answer."""
    last_checks: Sequence[Mapping[str, Any]] = ()
    said: dict[tuple[str | None, str], StoredEvent] = field(default_factory=dict)
    """Comments with an idempotency key, by actor and key."""

    @property
    def source(self) -> str:
        """The branch that is proposed."""
        return str(self.created.facts["source"])

    @property
    def into(self) -> str:
        """The branch that it is proposed to."""
        return str(self.created.facts["into"])

    @property
    def strategy(self) -> str:
        """How what both have changed is merged."""
        return str(self.created.facts.get("strategy", "entity"))

    @property
    def title(self) -> str:
        """What it is, in a line."""
        return str(self.created.facts["title"])

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that the proposal itself asks for."""
        return tuple(self.created.facts.get("checks", ()))

    @property
    def same_as(self) -> Sequence[Mapping[str, Any]]:
        """The rules that find duplicates."""
        return tuple(self.created.facts.get("same_as", ()))

    @property
    def metadata(self) -> Mapping[str, str]:
        """What is noted in the commit of the merge."""
        return dict(self.created.facts.get("metadata", {}))

    @property
    def author(self) -> str | None:
        """Who has made it."""
        return self.created.actor

    @property
    def state(self) -> str:
        """Where it is."""
        return "merged" if self.merged is not None else "closed" if self.is_closed else "open"

    @property
    def digest(self) -> str:
        """The hash of what decides, beside the two branches, what would be merged."""
        return digest_of(self.answers)


def digest_of(answers: Iterable[SavedAnswer]) -> str:
    """Return the hash of saved answers; an approval is of one such state."""
    text = json.dumps(list(answers), sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def fold(stored: StoredProposal) -> ProposalFacts:
    """Return what a proposal is."""
    facts = ProposalFacts(stored.id, stored.events[0])
    for event in stored.events[1:]:
        _apply(facts, event)
    return facts


def _apply(facts: ProposalFacts, event: StoredEvent) -> None:
    told = event.facts
    match event.kind:
        case EventKind.APPROVED | EventKind.CHANGES_REQUESTED:
            approves = event.kind is EventKind.APPROVED
            actor = str(event.actor)
            given = (told["commit"], told["content"], told["digest"])
            facts.verdicts[actor] = Verdict(actor, approves, *given, event)
        case EventKind.COMMENTED:
            if (key := told.get("idempotency_key")) is not None:
                facts.said[event.actor, key] = event
        case EventKind.RESOLVED:
            _answer(facts, told, event.actor)
        case EventKind.MERGE_STARTED:
            owner = Owner(*told["owner"])
            facts.attempt = MergeAttempt(told["key"], told["incarnation"], owner, event.at)
        case EventKind.MERGE_GIVEN_UP:
            facts.attempt = replace(facts.attempt, is_given_up=True) if facts.attempt is not None else None
        case EventKind.MERGE_ENDED:
            facts.attempt = None
            facts.last_checks = told.get("checks", facts.last_checks)
        case EventKind.MERGED:
            facts.attempt, facts.merged = None, event
            facts.last_checks = told.get("checks", facts.last_checks)
        case EventKind.CLOSED:
            facts.is_closed = True
        case EventKind.REOPENED:
            facts.is_closed = False
        case _:
            pass


def _answer(facts: ProposalFacts, told: Mapping[str, Any], actor: str | None) -> None:
    """Put answers in the place of earlier ones for the same conflicts; one may take nothing."""
    if told.get("replace"):
        facts.answers, facts.answered_by = [], []
    for answer in told["answers"]:
        kept = [
            (before, by)
            for before, by in zip(facts.answers, facts.answered_by, strict=True)
            if place_of(before) != place_of(answer)
        ]
        if answer.get("take") is not None:
            kept.append((answer, actor))
        facts.answers = [before for before, _ in kept]
        facts.answered_by = [by for _, by in kept]


def place_of(answer: SavedAnswer) -> tuple[Any, ...]:
    """Return which conflicts an answer is for."""
    return tuple(answer.get(name) for name in ("kind", "entity_kind", "type_name", "entity_id"))
