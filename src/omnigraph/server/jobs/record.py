"""A job as it is told and kept: what is asked, how it stands, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from omnigraph.base.errors import CorruptState
from omnigraph.base.plain import read_json

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
FINAL: frozenset[JobState] = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class Job:
    """One job; times are microseconds since the epoch."""

    id: str
    graph: str
    """The name under which the graph was served when it was asked for."""
    kind: str
    actor: str | None
    asked: Mapping[str, Any]
    """The checked request."""
    created: int
    state: JobState = "queued"
    started: int | None = None
    ended: int | None = None
    attempts: int = 0
    """How often a process has begun with it."""
    result: Any = None
    error: Mapping[str, Any] | None = None
    """The body of the error, as a request would have been answered."""
    body: str | None = None
    """The name of the file that came with it, until it is done."""
    branch: str | None = None
    """The branch of the caller's handle, when it named one."""
    incarnation: str | None = None
    if_commit: str | None = None
    """The commit that must still be the head, where the kind takes one."""
    digest: str = ""
    """Of what was asked, where an idempotency key was given."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in FINAL

    def change(self, **given: Any) -> Job:
        """Return the job with other values."""
        return replace(self, **given)

    def tell(self, cancel_requested: bool = False) -> dict[str, Any]:
        """Return what a caller is told."""
        return {
            "id": self.id,
            "graph": self.graph,
            "kind": self.kind,
            "state": self.state,
            "actor": self.actor,
            "asked": dict(self.asked),
            "created": self.created,
            "started": self.started,
            "ended": self.ended,
            "attempts": self.attempts,
            "cancel_requested": cancel_requested,
            "result": self.result,
            "error": self.error,
        }

    def dump(self) -> bytes:
        """Return the job as it is stored."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(kept, ensure_ascii=False, default=dict).encode()


def read_job(data: bytes, path: str) -> Job:
    """Return a stored job."""
    try:
        return Job(**read_json(data))
    except (ValueError, TypeError) as error:
        raise CorruptState(f"the job at {path} cannot be read: {error}", path=path) from error


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job."""

    number: int
    """Counted from 1, in the order in which they happened."""
    name: str
    time: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    def tell(self) -> dict[str, Any]:
        """Return what a caller is told."""
        return {"number": self.number, "event": self.name, "time": self.time, **self.facts}
