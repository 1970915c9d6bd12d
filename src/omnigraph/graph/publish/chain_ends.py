"""The first record of a graph, the first of a branch that begins with a commit, the last of a branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.base.errors import Contention, CorruptState
from omnigraph.base.ids import new_commit_id
from omnigraph.graph.manifest.chain import Chains, stamp_time
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, Successor
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.plan import PublishPlan, WrittenTable, next_record
from omnigraph.graph.publish.races import MAX_LOST_RACES


def put_genesis(
    chains: Chains,
    incarnation: str,
    schema: str,
    tables: Mapping[str, WrittenTable],
    actor: str | None = None,
) -> CommitRecord:
    """Put the commit that a graph begins with: no parent, empty tables."""
    commit = new_commit_id(incarnation)
    record = CommitRecord(
        commit=commit,
        seq=1,
        branch=MAIN,
        incarnation=incarnation,
        parent=None,
        schema=schema,
        tables={identity: table.entry(commit) for identity, table in tables.items()},
        created_at=stamp_time(commit, None),
        operation="init",
        content=commit,
        actor=actor,
    )
    chains.put(record)
    chains.leave_hint(record)
    return record


def put_first(chains: Chains, plan: PublishPlan, state: BranchState) -> CommitRecord:
    """Begin the chain of a branch that has no name yet: nobody sees the commit until it gets one."""
    record = next_record(plan, state)
    stored = chains.put(record)
    if stored is None:
        raise CorruptState(
            f"the chain {record.incarnation} of a new branch has a record of "
            f"somebody else: run `omnigraph repair`",
            path=record.incarnation,
        )
    chains.leave_hint(stored)
    return stored


RESTORED = "branch_restore"
"""The operation of the record that calls off a delete under way."""


def close_chain(
    truth: Truth,
    state: BranchState,
    actor: str | None,
    content: str | None = None,
    message: str | None = None,
) -> CommitRecord | None:
    """End a branch's chain and return its end: whoever would write after it finds that it is gone.

    None when the delete may have been called off after this state, or the branch has other content than
    the given one, or is protected by now.
    """
    commit, after = new_commit_id(state.ref.incarnation), state.head.seq
    for _ in range(MAX_LOST_RACES):
        if state.head.closed:
            return state.head
        if content not in (None, state.head.content) or state.head.protects(state.ref.incarnation):
            return None
        closing = replace(_closing_record(commit, state, actor, "branch_delete"), message=message)
        stored = truth.chains.put(closing)
        if stored is not None and truth.confirm_or_take_back(state, stored):
            return stored
        state = truth.refresh(state, anew=stored is not None)
        later = truth.since(state, after)
        if len(later) < state.head.seq - after or any(record.operation == RESTORED for record in later):
            return None
    name = state.ref.name
    raise Contention(
        f"branch {name!r} is too busy to be deleted: stop its writers and try again", branch=name
    )


def continue_elsewhere(
    truth: Truth, state: BranchState, actor: str | None, successor: Successor
) -> CommitRecord | None:
    """End a branch's chain and say where it goes on; None when it has moved, or is protected."""
    if state.head.protects(state.ref.incarnation) is not None:
        return None
    commit = new_commit_id(state.ref.incarnation)
    stored = truth.chains.put(replace(_closing_record(commit, state, actor, "rebase"), successor=successor))
    return stored if stored is not None and truth.confirm_or_take_back(state, stored) else None


def _closing_record(commit: str, state: BranchState, actor: str | None, operation: str) -> CommitRecord:
    head = state.head
    return CommitRecord(
        commit=commit,
        seq=head.seq + 1,
        branch=state.ref.name,
        incarnation=state.ref.incarnation,
        parent=head.ref,
        schema=head.schema,
        tables={},
        created_at=stamp_time(commit, head),
        operation=operation,
        commit_class=CommitClass.MAINTENANCE,
        content=head.content,
        actor=actor,
        fence=head.fence,
        lag=head.lag,
        closed=True,
        parent_digest=head.digest,
        queries=head.queries,
    )
