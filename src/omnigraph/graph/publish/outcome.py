"""What can become of a plan that is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import OutcomeUnknown, Unavailable
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.publish.conflict import Conflicting, FilesRewritten


@dataclass(frozen=True, slots=True)
class Published:
    """The plan is visible as a commit."""

    commit: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the caller is told, when it gave an idempotency key."""
    record: CommitRecord | None = None
    """None when a cleanup has dropped it since."""

    @staticmethod
    def as_stored(record: CommitRecord) -> Published:
        """Return what a stored record says."""
        return Published(record.commit, record.answer, record)


@dataclass(frozen=True, slots=True)
class Discarded:
    """Recovery took the plan for abandoned and said so on the branch: it will never be published."""


@dataclass(frozen=True, slots=True)
class FilesMayBeGone:
    """A cleanup may remove what the plan would name: all of it must be staged again."""


SettledOutcome = Published | Discarded
PublishOutcome = SettledOutcome | FilesRewritten | Conflicting | FilesMayBeGone


def may_have_landed(error: Exception) -> bool:
    """Return whether a publish may have succeeded despite this error."""
    if isinstance(error, OSError | OutcomeUnknown):
        return True
    return isinstance(error, Unavailable) and error.retryable
