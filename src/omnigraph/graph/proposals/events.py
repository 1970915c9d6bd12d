"""What has happened to a proposal, event by event, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout


class EventKind(StrEnum):
    """What can happen to a proposal."""

    CREATED = "created"
    COMMENTED = "commented"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    RESOLVED = "resolved"
    MERGE_STARTED = "merge_started"
    MERGE_GIVEN_UP = "merge_given_up"
    """Others have taken it for dead: it may not begin to write any more, and perhaps has."""
    MERGE_ENDED = "merge_ended"
    """Without a commit: it was refused, or given up."""
    MERGED = "merged"
    CLOSED = "closed"
    REOPENED = "reopened"


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One thing that somebody has done."""

    kind: EventKind
    actor: str | None
    at: int
    """Microseconds."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def made_at(self) -> datetime:
        """When it was done."""
        return datetime.fromtimestamp(self.at / 1e6, UTC)


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A proposal as it is stored: its events, oldest first; the first one is that it was made."""

    id: str
    events: tuple[StoredEvent, ...]

    def encode(self) -> bytes:
        """Return the proposal as stored."""
        return stored_format.encode_value(self, layout.proposal_path(self.id))


def decode_proposal(data: bytes, path: str) -> StoredProposal:
    """Build a proposal from its stored form."""
    return stored_format.decode_value(data, path, "proposal", StoredProposal)
