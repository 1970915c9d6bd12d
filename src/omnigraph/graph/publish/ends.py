"""The first record of a graph, the first of a branch that begins with a commit, the last of a branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.base.errors import Contention
from omnigraph.base.ids import new_ulid
from omnigraph.graph.manifest.chain import Chains, stamp_time
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, Successor
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.plan import PublishPlan, WrittenTable, next_record

_TRIES = 32


def put_genesis(
    chains: Chains, incarnation: str, schema: str, tables: Mapping[str, WrittenTable]
) -> CommitRecord:
    """Put the commit that a graph begins with: no parent, no actor, empty tables."""
    commit = new_ulid()
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
    )
    chains.put(record)
    return record


def put_first(chains: Chains, plan: PublishPlan, state: BranchState) -> CommitRecord:
    """Begin the chain of a branch that has no name yet: nobody sees the commit until it gets one."""
    record = next_record(plan, state)
    chains.put(record)
    return record


def close_chain(truth: Truth, state: BranchState, actor: str | None) -> None:
    """End a branch's chain: whoever would write after this finds that the branch is gone."""
    commit = new_ulid()
    for _ in range(_TRIES):
        head = state.head
        if head.closed:
            return
        closing = _closing(commit, state, actor, "branch_delete")
        if truth.chains.put(closing) and truth.stands(state, closing):
            return
        state = truth.refresh(state)
    name = state.ref.name
    raise Contention(
        f"branch {name!r} is too busy to be deleted: stop its writers and try again", branch=name
    )


def continue_elsewhere(
    truth: Truth, state: BranchState, actor: str | None, successor: Successor
) -> CommitRecord | None:
    """End a branch's chain and say where it goes on; None when another record has come before."""
    closing = replace(_closing(new_ulid(), state, actor, "rebase"), successor=successor)
    return closing if truth.chains.put(closing) and truth.stands(state, closing) else None


def _closing(commit: str, state: BranchState, actor: str | None, operation: str) -> CommitRecord:
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
        closed=True,
    )
