"""Proposals as users see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from omnigraph.base.notebook import html_table
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.graph.merge.tables import MergeCounts

ProposalState = Literal["open", "merged", "closed"]


@dataclass(frozen=True, slots=True)
class ProposalComment:
    """What somebody has said about a proposal, or about a node, an edge or a property of it."""

    id: str
    actor: str | None
    at: datetime
    text: str
    commit: str | None
    """The newest commit of the source when it was said."""
    entity: Mapping[str, str] | None = None
    """`type`, `id`, and perhaps `property`."""


@dataclass(frozen=True, slots=True)
class Review:
    """A verdict about one state of the source."""

    actor: str
    commit: str
    at: datetime
    is_current: bool
    """Whether it counts: nothing that it is about has changed, and its actor had no part in it."""
    text: str = ""


@dataclass(frozen=True)
class CheckResult:
    """A check on the merged result: it is passed when its query returns no rows."""

    name: str
    ok: bool
    rows: tuple[Mapping[str, Any], ...] = ()
    """The first rows that it has returned."""
    columns: tuple[str, ...] = ()
    row_count: int = 0
    """How many rows it has returned; at most one more than are shown is looked for."""
    error: str | None = None
    """Why it could not be run."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a proposal cannot be merged now."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ProposalEvent:
    """One thing that has happened to a proposal."""

    kind: str
    actor: str | None
    at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)
    proposal: str = ""
    number: int = 0
    """Its place among the events of the proposal, from 0: with the proposal it is the event's id."""


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """Events of proposals, and from where to go on."""

    events: tuple[ProposalEvent, ...]
    cursor: str


@dataclass(frozen=True)
class Proposal:
    """What somebody wants to be merged, and what others have said about it."""

    id: str
    source: str
    into: str
    title: str
    description: str
    author: str | None
    state: ProposalState
    created_at: datetime
    updated_at: datetime
    source_commit: str | None
    """The newest commit of the source; of a merged proposal the one that was merged."""
    target_commit: str | None
    """The newest commit of the target."""
    base_commit: str | None
    """What both began from: the proposal is what leads from there to the source."""
    strategy: str = "entity"
    reviewers: tuple[str, ...] = ()
    comments: tuple[ProposalComment, ...] = ()
    approvals: tuple[Review, ...] = ()
    changes_requested: tuple[Review, ...] = ()
    """Those that stand in the way are current."""
    checks: tuple[CheckResult, ...] = ()
    """Of the last merge that was tried."""
    resolutions: tuple[Mapping[str, Any], ...] = ()
    """The saved answers to conflicts."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Noted in the commit of the merge."""
    same_as: tuple[Mapping[str, Any], ...] = ()
    """The rules that find duplicates."""
    merged_commit: str | None = None
    events: tuple[ProposalEvent, ...] = ()

    def __repr__(self) -> str:
        return f"Proposal({self.id!r}, {self.state}: {self.source!r} into {self.into!r}, {self.title!r})"

    def _repr_html_(self) -> str:
        """Return the events as a table, for notebooks."""
        rows = [(item.at, item.actor, item.kind, item.facts.get("text", "")) for item in self.events]
        note = f"{self.state}: {self.source} into {self.into}: {self.title}"
        return html_table(("when", "who", "what", "text"), rows, note)


@dataclass(frozen=True)
class Mergeability:
    """Whether a proposal can be merged now, and if not, why."""

    mergeable: bool
    reasons: tuple[Reason, ...] = ()
    outcome: str | None = None
    """What kind of merge it would be; None where there is no source."""
    conflicts: tuple[MergeConflict, ...] = ()
    """Those that no saved answer settles."""
    checks: tuple[CheckResult, ...] = ()
    approvals: tuple[Review, ...] = ()
    approvals_needed: int = 0
    counts: Mapping[str, MergeCounts] = field(default_factory=dict)
    source_commit: str | None = None
    target_commit: str | None = None

    def __repr__(self) -> str:
        why = "" if self.mergeable else ": " + ", ".join(reason.code for reason in self.reasons)
        return f"Mergeability({'yes' if self.mergeable else 'no'}{why})"
