"""What a branch is, in a few facts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from omnigraph.graph.manifest import lineage
from omnigraph.graph.manifest.merge_base import count_apart
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, Protection
from omnigraph.graph.manifest.truth import BranchState, Truth


@dataclass(frozen=True, slots=True)
class BranchInfo:
    """A branch beside another."""

    name: str
    head: str
    """The id of its newest commit."""
    version: int
    created_by: str | None
    created_at: datetime | None
    """None for main, which is as old as the graph."""
    fork: str | None
    """The commit that it began from; None for main."""
    compared_with: str
    ahead: int
    """The commits that it has and the other branch does not; maintenance does not count."""
    behind: int
    last_writer: str | None
    """The actor of its newest commit that is not maintenance, its own or an inherited one."""
    last_write_at: datetime
    last_message: str | None
    protection: Protection | None = None
    """What proposals into it need, when nothing else may change it."""


def describe_branch(truth: Truth, state: BranchState, other: BranchState) -> BranchInfo:
    """Describe a branch beside another one."""
    ref, head = state.ref, state.head
    ahead, behind = count_apart(truth.chains, head, other.head)
    last = _find_last_write(truth, head)
    return BranchInfo(
        name=ref.name,
        head=head.commit,
        version=head.seq,
        created_by=ref.actor,
        created_at=_datetime(ref.created_at) if ref.fork is not None else None,
        fork=ref.fork.commit if ref.fork is not None else None,
        compared_with=other.ref.name,
        ahead=ahead,
        behind=behind,
        last_writer=last.actor,
        last_write_at=_datetime(last.created_at),
        last_message=last.message,
        protection=head.protects(ref.incarnation),
    )


def _find_last_write(truth: Truth, head: CommitRecord) -> CommitRecord:
    logical = (
        record for record in lineage.history(truth.chains, head) if record.commit_class is CommitClass.LOGICAL
    )
    return next(logical, head)


def _datetime(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)
