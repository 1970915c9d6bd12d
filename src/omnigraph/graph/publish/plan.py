"""A publish plan: the whole intent of one commit, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.base.ids import new_commit_id, ulid_time_us
from omnigraph.base.plain import json_name, listed
from omnigraph.graph.manifest.chain import stamp_time
from omnigraph.graph.manifest.record import (
    CommitClass,
    CommitRecord,
    CommitRef,
    Protection,
    RecoveryNote,
    TableEntry,
)
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.storage.namespace import Pin


@listed
@dataclass(frozen=True, slots=True)
class ExpectedTable:
    """A table version that the plan relied on, or wrote on top of."""

    key: str
    version: int
    path: str
    changed_by: str
    digest: str = ""
    sums: str = ""

    @staticmethod
    def of(entry: TableEntry) -> ExpectedTable:
        """Return what to expect of a table that looked like this."""
        pin = entry.pin
        return ExpectedTable(entry.key, pin.version, pin.path, entry.changed_by, pin.digest, pin.sums)

    @property
    def pin(self) -> Pin:
        """The version itself."""
        return Pin(self.version, self.path, self.digest, self.sums)


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table version that the plan makes visible."""

    key: str
    location: str
    pin: Pin
    rows: int
    fragments: int
    elsewhere: bool = False
    """Whether it was staged in another history of the table, not on top of the version that the plan read."""
    content: str | None = None
    """The commit that wrote these rows, when they are another branch's as they are."""
    distinct: Mapping[str, int] = field(default_factory=dict)
    """How many values columns are thought to have, when that was looked at."""

    def entry(self, changed_by: str, before: TableEntry | None = None) -> TableEntry:
        """Return the commit record's entry for this table, which had another one before."""
        wrote = self.content or changed_by
        distinct = self.distinct or ({} if before is None else before.distinct)
        return TableEntry(self.key, self.location, self.pin, self.rows, self.fragments, wrote, distinct)


@dataclass(frozen=True)
class PublishPlan:
    """One commit to be: what it saw, what it writes, and who asks for it."""

    commit: str
    """Minted once; it survives every retry, and recovery."""
    operation_id: str
    branch: str
    incarnation: str
    base: CommitRef
    """The head that the plan was prepared on."""
    expected_schema: str
    operation: str
    commit_class: CommitClass = field(metadata=json_name("class"))
    reads: Mapping[str, ExpectedTable]
    """By table identity: every table that was read or written on top of."""
    writes: Mapping[str, WrittenTable]
    drops: tuple[str, ...] = ()
    reclaims: tuple[str, ...] = ()
    """The tables of which older versions are not to be kept."""
    schema: str | None = None
    """The new schema's address, when the plan changes it."""
    if_commit: str | None = None
    """The commit that must still be the branch's content, when the caller asked for that."""
    actor: str | None = None
    message: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    merged_parent: CommitRef | None = None
    streams: Mapping[str, int] = field(default_factory=dict)
    recovery: tuple[RecoveryNote, ...] = ()
    key: str = ""
    """The name of the claim of the caller's idempotency key."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the caller is told, when it gave an idempotency key."""
    staged_behind: int = 0
    """The number of the newest cleanup that was known when the first file was staged."""
    sources: tuple[CommitRef, ...] = ()
    """The commits whose tables the plan takes over as they are."""
    fence: int | None = None
    """The fence that the commit puts up, when it is cleanup's."""
    queries: str | None = None
    """The address of other stored queries, when the plan changes them; empty when it leaves none."""
    expected_queries: str = ""
    """The stored queries that it was prepared on; they count when it changes them or the schema."""
    relies_on_queries: bool = False
    """Whether stored queries have told that it may be published: then it counts which they are."""
    meets: Protection | None = None
    """The protection of the branch that a proposal has satisfied."""
    sets_protection: bool = False
    """Whether the commit gives the branch another protection."""
    protection: Protection | None = None
    """That protection; None when it takes it away."""

    @property
    def definitions(self) -> tuple[str, ...]:
        """The addresses of the schema and the stored queries that it brings."""
        return tuple(address for address in (self.schema, self.queries) if address)

    @property
    def changes_something(self) -> bool:
        """Whether there is anything to publish."""
        says = self.writes or self.drops or self.schema or self.merged_parent
        return bool(says or self.queries is not None)


def note_plan(
    state: BranchState, operation: str, actor: str | None, message: str | None, **more: Any
) -> PublishPlan:
    """Return the plan of a commit right after a state that changes nothing and says something."""
    commit, head = new_commit_id(state.ref.incarnation), state.head
    plan = PublishPlan(
        commit=commit,
        operation_id=commit,
        branch=state.ref.name,
        incarnation=state.ref.incarnation,
        base=head.ref,
        expected_schema=head.schema,
        expected_queries=head.queries,
        operation=operation,
        commit_class=CommitClass.MAINTENANCE,
        reads={},
        writes={},
        actor=actor,
        message=message,
    )
    return replace(plan, **more)


def next_record(plan: PublishPlan, state: BranchState) -> CommitRecord:
    """Return the record that would publish this plan on top of this state."""
    head = state.head
    tables = dict(head.tables)
    for identity in plan.drops:
        tables.pop(identity, None)
    logical = plan.commit_class is CommitClass.LOGICAL
    for identity, written in plan.writes.items():
        changed_by = plan.commit if logical else head.tables[identity].changed_by
        tables[identity] = written.entry(changed_by, head.tables.get(identity))
    created_at = stamp_time(plan.commit, head)
    return CommitRecord(
        commit=plan.commit,
        seq=head.seq + 1,
        branch=plan.branch,
        incarnation=plan.incarnation,
        parent=head.ref,
        schema=plan.schema or head.schema,
        tables=tables,
        created_at=created_at,
        operation=plan.operation,
        commit_class=plan.commit_class,
        content=plan.commit if logical else head.content,
        actor=plan.actor,
        message=plan.message,
        metadata=plan.metadata,
        merged_parent=plan.merged_parent,
        streams={
            **head.streams,
            # A commit that is made again elsewhere may come to where the stream has gone on.
            **{app: max(batch, head.streams.get(app, batch)) for app, batch in plan.streams.items()},
        },
        recovery=plan.recovery,
        key=plan.key,
        answer=plan.answer,
        fence=max(plan.fence or 0, head.fence),
        lag=max(head.lag, created_at - ulid_time_us(plan.commit)),
        protection=plan.protection if plan.sets_protection else head.protects(plan.incarnation),
        parent_digest=head.digest,
        queries=head.queries if plan.queries is None else plan.queries,
        reclaims=plan.reclaims,
    )
