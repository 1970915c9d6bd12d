"""Whether a plan still fits the newest commit: a pure decision over two values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.base.errors import (
    BatchLanded,
    BranchGone,
    BranchProtected,
    Conflict,
    ExpectedVersionMismatch,
    PreconditionFailed,
)
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.publish.plan import PublishPlan

SCHEMA = "schema"
QUERIES = "queries"
PROTECTION = "protection"


@dataclass(frozen=True, slots=True)
class NoConflict:
    """The plan can be published on top of this head as it is."""


@dataclass(frozen=True, slots=True)
class FilesRewritten:
    """A table that the plan writes was rewritten with the same content: stage again on top of it."""

    table_key: str


@dataclass(frozen=True, slots=True)
class Conflicting:
    """Something that the plan relied on has changed."""

    error: Conflict | BranchProtected


Fit = NoConflict | FilesRewritten | Conflicting


def compare_with_head(plan: PublishPlan, head: CommitRecord) -> Fit:
    """Compare what a plan read and wrote with the newest commit of its branch (invariant 2).

    Tables that the plan never touched do not matter. A table whose `changed_by` is the same has the
    same content, whatever maintenance did to its files.
    """
    if head.closed:
        return Conflicting(branch_gone_error(plan.branch))
    if (refused := _compare_protection(plan, head)) is not None:
        return Conflicting(refused)
    if plan.if_commit is not None and (error := precondition_error(plan.if_commit, head, plan.branch)):
        return Conflicting(error)
    if (repeated := batch_landed_error(plan.streams, head, plan.branch)) is not None:
        return Conflicting(repeated)
    if not same_schema(head.schema, plan.expected_schema):
        return Conflicting(_mismatch(SCHEMA, plan.expected_schema, head.schema))
    # What is checked of queries and schema is that they fit together: neither may move alone. And of queries
    # that are checks themselves, that these are the ones which were run.
    relies = plan.relies_on_queries or plan.schema is not None or plan.queries is not None
    if relies and not same_schema(head.queries, plan.expected_queries):
        return Conflicting(_mismatch(QUERIES, plan.expected_queries, head.queries))
    moved: str | None = None
    for identity, expected in plan.reads.items():
        entry = head.tables.get(identity)
        if entry is None:
            return Conflicting(_mismatch(expected.key, expected.version, None))
        same_files = entry.pin.path == expected.path
        if not same_files and entry.changed_by != expected.changed_by:
            return Conflicting(_mismatch(expected.key, expected.version, entry.pin.version))
        if not same_files and identity in plan.writes and not plan.writes[identity].elsewhere:
            moved = expected.key
    for identity, written in plan.writes.items():
        if identity not in plan.reads and identity in head.tables:
            return Conflicting(_mismatch(written.key, None, head.tables[identity].pin.version))
    return FilesRewritten(moved) if moved else NoConflict()


def _compare_protection(
    plan: PublishPlan, head: CommitRecord
) -> BranchProtected | ExpectedVersionMismatch | None:
    """Return why a change may not be put onto a protected branch; what a proposal has met must stand."""
    stands = head.protects(plan.incarnation)
    if plan.commit_class is not CommitClass.LOGICAL or stands == plan.meets:
        return None
    if plan.meets is None:
        return protected_error(plan.branch, plan.actor, plan.operation)
    return _mismatch(PROTECTION, plan.meets, stands)


def protected_error(branch: str, actor: str | None, operation: str) -> BranchProtected:
    """Return the error for a direct change of a protected branch."""
    return BranchProtected(
        f"branch {branch!r} is protected: work on a branch of your own and propose it "
        f"(`g.proposals.create(source, into={branch!r})`, "
        f"`omnigraph proposal create SOURCE --into {branch}`)",
        branch=branch,
        actor=actor,
        operation=operation,
    )


def branch_gone_error(branch: str) -> BranchGone:
    """Return the error for a branch that was deleted under a writer or reader."""
    return BranchGone(
        f"branch {branch!r} was deleted (and perhaps made again) meanwhile: open it again", branch=branch
    )


def precondition_error(commit: str, head: CommitRecord, branch: str) -> PreconditionFailed | None:
    """Return the error when `commit` is no longer what a branch says; maintenance does not count.

    The head of a branch without commits of its own is a record of the branch that it was forked from.
    """
    if commit in (head.commit, head.content):
        return None
    return PreconditionFailed(
        f"branch {branch!r} is at commit {head.commit}, not at {commit}: read again and decide anew",
        branch=branch,
        expected=commit,
        actual=head.commit,
    )


def batch_landed_error(streams: Mapping[str, int], head: CommitRecord, branch: str) -> BatchLanded | None:
    """Return the error when a batch of a stream is part of what the branch says already."""
    for app, batch in streams.items():
        last = head.streams.get(app)
        if last is not None and last >= batch:
            return BatchLanded(
                f"batch {batch} of {app!r} is in branch {branch!r} already, whose last one is {last}: a "
                "stream that begins anew needs another app_id",
                app_id=app,
                batch=batch,
                landed=last,
            )
    return None


def _mismatch(key: str, expected: object, actual: object) -> ExpectedVersionMismatch:
    return ExpectedVersionMismatch(
        f"{key} was changed by another writer (this write saw {expected}, the branch has {actual}): "
        "read the current state and try again",
        table_key=key,
        expected=expected,
        actual=actual,
    )
