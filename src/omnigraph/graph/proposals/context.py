"""The proposals of an open graph, for one actor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base import clock
from omnigraph.graph.opening import Core
from omnigraph.graph.proposals.events import EventKind, StoredEvent
from omnigraph.graph.proposals.stored import StoredProposals


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """The proposals of an open graph, for one actor."""

    core: Core
    actor: str | None
    can_write: bool = True

    @property
    def stored(self) -> StoredProposals:
        """Where they lie."""
        return StoredProposals(self.core.truth.store, self.core.settings.proposal_bytes)

    def make_event(self, kind: EventKind, facts: Mapping[str, Any]) -> StoredEvent:
        """Return an event of now."""
        return StoredEvent(kind, self.actor, clock.current().now_us(), facts)
