"""What of proposals an actor is told who does not see all data of their branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.base.errors import OmniError
from omnigraph.graph.proposals.fold import ProposalFacts
from omnigraph.graph.proposals.model import Proposal

if TYPE_CHECKING:
    from omnigraph.sdk.reading import ReadableGraph


class ProposalSight:
    """What one actor sees of proposals: their branches count, and that of its handle, too."""

    def __init__(self, graph: ReadableGraph) -> None:
        self._graph = graph

    def sees(self, facts: ProposalFacts) -> bool:
        """Return whether the actor sees all data that a proposal is about."""
        return all(self._graph.internals.sees_all(name) for name in (None, *self._branches(facts)))

    def check(self, facts: ProposalFacts, what: str) -> None:
        """Refuse what tells of all data that a proposal is about, when its actor does not see it."""
        for name in (None, *self._branches(facts)):
            self._graph.internals.check_sees_all(what, name)

    def cut(self, told: Proposal, facts: ProposalFacts) -> Proposal:
        """Return a proposal without what of the data only those may know who see it."""
        if self.sees(facts):
            return told
        events = tuple(replace(item, facts={}) for item in told.events)
        comments = tuple(
            item for item in told.comments if item.entity is None or self._sees_entity(facts, item.entity)
        )
        return replace(told, checks=(), resolutions=(), events=events, comments=comments)

    def _sees_entity(self, facts: ProposalFacts, named: Mapping[str, str]) -> bool:
        """Return whether what a comment is about is there for the actor, on one of the branches."""
        for branch in self._branches(facts):
            with suppress(OmniError):
                found = self._graph.entity(named["type"], named["id"], branch=branch)
                if found.exists and named.get("property", "id") in ("id", *found.properties):
                    return True
        return False

    def _branches(self, facts: ProposalFacts) -> Iterator[str]:
        truth = self._graph.internals.core.truth
        return (name for name in (facts.source, facts.into) if truth.has(name))
