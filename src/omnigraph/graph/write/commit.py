"""`commit`: the life of one write, from the healed branch to the published record."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from omnigraph.base import clock
from omnigraph.base.errors import (
    Conflict,
    Contention,
    ExpectedVersionMismatch,
    HistoricalVersionReclaimed,
    OmniError,
    OutcomeUnknown,
    Unavailable,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_chain_id, new_commit_id, new_ulid
from omnigraph.base.settings import Settings
from omnigraph.graph.branches.lifecycle import Line, create_branch
from omnigraph.graph.manifest.layout import plan_path
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.ends import put_first
from omnigraph.graph.publish.fence import is_condemned, swept
from omnigraph.graph.publish.fit import Clashes, fit, gone, landed, precondition
from omnigraph.graph.publish.plan import PublishPlan, next_record
from omnigraph.graph.publish.publisher import (
    Discarded,
    Outcome,
    Published,
    Swept,
    publish,
    settlement,
)
from omnigraph.graph.recovery.owner import in_flight, this_process
from omnigraph.graph.recovery.plans import (
    TAKEN,
    DurablePlan,
    delete_plan,
    withdraw_plan,
    write_plan,
)
from omnigraph.graph.recovery.settle import settle_abandoned, settle_plan
from omnigraph.graph.write.base import WriteBase
from omnigraph.graph.write.keys import Claim, claim_key, landed_by
from omnigraph.graph.write.tidy import tidy
from omnigraph.storage.turn import turn

_log = logging.getLogger("omnigraph")
_LOST_ENOUGH = 2


class Work(Protocol):
    """What a writer does. `stage` writes data files, once; `apply` stages table versions, once an attempt.

    `repeatable` work may be applied to a newer state than the one that it was asked for on: inserts and
    upserts may, an update, delete or overwrite reports the conflict instead.
    """

    @property
    def operation(self) -> str:
        """The word for this work in the commit."""

    @property
    def commit_class(self) -> CommitClass:
        """Whether the work changes what the graph says; maintenance is always repeatable."""

    @property
    def repeatable(self) -> bool:
        """Whether a newer state is as good."""

    def stage(self, base: WriteBase) -> None:
        """Write data files for the tables of `base`."""

    def apply(self, base: WriteBase) -> None:
        """Check the work against `base` and stage table versions on top of it."""


@runtime_checkable
class Answering(Protocol):
    """Work that tells its caller more than the commit."""

    def answer(self) -> Mapping[str, Any]:
        """Return what the caller is told, as plain JSON data, once the work is applied."""


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks for a commit, where, and on which conditions."""

    branch: str
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None
    durable: bool = False
    """Whether staging is so expensive that a crash must not lose it: the plan is then made durable."""
    incarnation: str | None = None
    """The incarnation that the branch must have, when the caller knows it."""
    streams: Mapping[str, int] = field(default_factory=dict)
    """The batch of a streaming application that this commit is; what has landed does not land again."""
    key: str | None = None
    """The caller's idempotency key: what was committed under it is not committed again."""
    staged_behind: int | None = None
    """The newest cleanup that was known when files began to be written, when another process has begun."""


def commit(truth: Truth, settings: Settings, request: Request, work: Work) -> CommitRecord | None:
    """Carry out work as one commit; None when it changed nothing.

    A repeatable work that loses a race is applied again to the newer state, with the data files that it
    has written already. Maintenance never makes any work fail: its result is applied again as well.
    """
    settle_abandoned(truth, settings)
    state = truth.state(request.branch)
    if request.incarnation not in (None, state.ref.incarnation):
        raise gone(request.branch)
    claim = _claim(truth, request, state.ref.incarnation, work)
    if claim is not None and (first := landed_by(truth, state, claim)) is not None:
        return first
    if request.if_commit and (error := precondition(request.if_commit, state.head)):
        raise error
    if (repeated := landed(request.streams, state.head)) is not None:
        raise repeated
    write = _Write(truth, settings, request, work, WriteBase(truth.store, state), claim)
    try:
        work.stage(write.base)
    except OmniError as error:
        write.explain(error)
        raise
    hit(Failpoint.WRITE_AFTER_STAGE)
    return write.run()


def commit_to_fork(
    truth: Truth, settings: Settings, request: Request, work: Work, source: str
) -> CommitRecord | None:
    """Carry out work as the first commit of a new branch, which appears with it, or not at all.

    The commit is put into a chain that no branch has, so that nobody sees it and nobody can race it. Naming
    the chain is what makes both visible; until then a crash leaves files that nothing references, and no
    plan needs to be durable. Raises AlreadyExists when somebody has made the branch meanwhile.
    """
    settle_abandoned(truth, settings)
    origin = truth.state(source)
    ref = BranchRef(request.branch, new_chain_id(), origin.head.ref)
    base = WriteBase(truth.store, replace(origin, ref=ref))
    claim = _claim(truth, request, ref.incarnation, work)
    write = _Write(truth, settings, replace(request, durable=False), work, base, claim)
    work.stage(base)
    hit(Failpoint.WRITE_AFTER_STAGE)
    # Staging may have taken long: what it began from may be history by now, and subject to cleanup.
    origin = truth.refresh(origin)
    if origin.head.closed:
        raise gone(source)
    write.move_to(replace(origin, ref=replace(ref, fork=origin.head.ref)))
    try:
        plan = write.prepare()
    except HistoricalVersionReclaimed as error:
        if truth.refresh(origin, anew=True).head.commit != origin.head.commit:
            raise swept(request.branch) from error
        raise
    record = put_first(truth.chains, plan, base.state) if plan.changes_something else None
    line = Line(ref.incarnation, (record,) if record else (), write.staged_behind)
    create_branch(truth, request.branch, base.state.head, request.actor, line)
    return record


def commit_in_line(
    truth: Truth,
    settings: Settings,
    steps: Iterable[tuple[Request, Work]],
    state: BranchState,
    put: bool = True,
) -> Line:
    """Carry out works as commits that follow each other, in a chain that no branch has.

    Whoever names the chain must see to it that no cleanup has come between. Without `put` no commit is
    stored, only what the next one reads.
    """
    behind, made = state.head.fence, []
    for request, work in steps:
        base = WriteBase(truth.store, state)
        write = _Write(truth, settings, replace(request, durable=False), work, base)
        work.stage(base)
        plan = write.prepare()
        if plan.changes_something:
            made.append(put_first(truth.chains, plan, state) if put else next_record(plan, state))
            state = replace(state, head=made[-1])
    return Line(state.ref.incarnation, tuple(made), behind)


def _claim(truth: Truth, request: Request, incarnation: str, work: Work) -> Claim | None:
    if request.key is None:
        return None
    return claim_key(truth, incarnation, request.key, new_commit_id(incarnation), work.operation)


class _Write:
    """One commit in progress; its id is minted once, when its files are staged."""

    def __init__(
        self,
        truth: Truth,
        settings: Settings,
        request: Request,
        work: Work,
        base: WriteBase,
        claim: Claim | None = None,
    ) -> None:
        self.truth, self.settings, self.request, self.work, self.base = truth, settings, request, work, base
        self.claim = claim
        self.operation_id = new_ulid()
        known = base.state.head.fence
        self.staged_behind = known if request.staged_behind is None else request.staged_behind
        self.plan: PublishPlan | None = None
        """What was prepared last."""
        self.flight = ExitStack()
        """While its plan exists, other threads of this process leave it alone."""
        self.is_planned = False
        """Whether a durable plan of this operation may exist."""
        self.lost = 0
        """How many attempts another writer has undone."""
        self.sent = False
        """Whether a publish was begun whose outcome has not come back."""

    @cached_property
    def commit_id(self) -> str:
        """The id that the commit will have."""
        return self.claim.commit if self.claim else new_commit_id(self.base.state.ref.incarnation)

    def run(self) -> CommitRecord | None:
        """Carry the work out, and take its durable plan back unless only recovery can tell its outcome."""
        try:
            record = self._attempts()
        except (OmniError, OSError) as error:
            if self.sent and _outcome_is_unknown(error):
                raise
            if (landed := self._after(error)) is not None:
                return landed
            self.explain(error)
            raise
        finally:
            self.flight.close()
        self._forget_plan()
        return record

    def _after(self, error: Exception) -> CommitRecord | None:
        """Take the plan back after an error; whether nothing was written is not known until that is done."""
        try:
            return self._withdraw()
        except (OmniError, OSError) as failure:
            if _outcome_is_unknown(error):
                return None
            raise failure from error

    def _withdraw(self) -> CommitRecord | None:
        """Take the durable plan back; return the commit if recovery has made one of it, or is about to.

        A write may be refused, or prepared anew, only when nobody else can publish what it had planned.
        """
        if not self.is_planned:
            return None
        path = plan_path(self.operation_id)
        found = withdraw_plan(self.truth.store, path)
        if found is not None and found.state == TAKEN:
            settle_plan(self.truth, found)
        if found is None or found.state == TAKEN:
            settled = self._settled(self.truth.refresh(self.base.state))
            if isinstance(settled, Published):
                self._forget_plan()
                return settled.record
        self._forget_plan()
        return None

    def explain(self, error: Exception) -> None:
        """Say that a write can be made again when a cleanup took files of the commit that it began from."""
        if isinstance(error, HistoricalVersionReclaimed):
            now = self.truth.refresh(self.base.state, anew=True)
            if not now.head.closed and now.head.commit != self.base.state.head.commit:
                raise swept(self.request.branch) from error

    def _attempts(self) -> CommitRecord | None:
        """Attempt until the work is published, turns out to change nothing, or may not be tried again."""
        for _ in range(self.settings.prepare_retries + 1):
            plan, outcome = self._attempt()
            if outcome is None or isinstance(outcome, Published):
                return outcome.record if outcome else None
            if isinstance(outcome, Swept):
                raise swept(self.request.branch)
            if (landed := self._withdraw()) is not None:
                return landed
            state = self._newest()
            if isinstance(state, Published):
                return state.record
            assert plan is not None
            # Where only maintenance had come between, more may have come by now.
            verdict = outcome if isinstance(outcome, Clashes) else fit(plan, state.head)
            if isinstance(verdict, Clashes) and not self._may_repeat(verdict.error, state):
                raise verdict.error
            self.move_to(state)
            self.lost += 1
        raise Contention(
            f"other writers of branch {self.request.branch!r} changed the same tables "
            f"{self.settings.prepare_retries + 1} times in a row: try again",
            branch=self.request.branch,
            tries=self.settings.prepare_retries + 1,
        )

    def _attempt(self) -> tuple[PublishPlan | None, Outcome | None]:
        with self._turn() as mine:
            if mine and self.work.repeatable:
                state = self._newest()
                if isinstance(state, Published):
                    return None, state
                self.move_to(state)
            plan = self.prepare()
            if not plan.changes_something:
                return plan, None
            self.sent = True
            outcome = publish(self.truth, plan, self.base.state, self.settings.publish_retries)
            self.sent = False
            return plan, outcome

    def _newest(self) -> BranchState | Published:
        """Return the newest state of the branch, or this very commit if it stands there already.

        Recovery may have taken this writer for dead and have published its plan, or discarded it. What was
        discarded can be tried again, as another operation.
        """
        state = self.truth.refresh(self.base.state)
        settled = self._settled(state)
        return settled if isinstance(settled, Published) else state

    def _settled(self, state: BranchState) -> Published | Discarded | None:
        """Return what has become of this write since the state that it stands on."""
        known = self.base.state
        if state.head.commit == known.head.commit or not (self.is_planned or self.claim):
            return None  # nobody else can have published it
        if self.plan is not None:
            return settlement(self.truth, self.plan, state, known)
        # Not prepared yet: only who has the same key can have published it.
        found = self.truth.find(self.commit_id, state, known.head.seq)
        if found is None and self.truth.has_lost(self.commit_id, state, known.head.seq):
            raise self.truth.unknown(self.commit_id, self.request.branch)
        return Published(found) if found is not None else None

    def prepare(self) -> PublishPlan:
        """Apply the work to the state at hand, and return what would publish it."""
        self.work.apply(self.base)
        hit(Failpoint.WRITE_AFTER_ALL_TABLES)
        if self._is_logical:
            tidy(self.base, self.settings.small_fragments)
        plan = self.plan = self._plan()
        if not all(self.truth.chains.holds(source, plan.writes) for source in plan.sources):
            raise swept(self.request.branch)  # what it takes over was dropped since it was chosen
        self.base.flush()
        if self.request.durable and plan.changes_something:
            self._make_durable(plan)
        return plan

    @property
    def _is_logical(self) -> bool:
        return self.work.commit_class is CommitClass.LOGICAL

    def _turn(self) -> AbstractContextManager[bool]:
        # Maintenance takes long and can lose: it must not keep writers waiting. Having lost twice, it has
        # done what takes long, and repeats little.
        if not self._is_logical and self.lost < _LOST_ENOUGH:
            return nullcontext(False)
        return turn(self.truth.store, self.base.state.ref.incarnation, self.settings.turn_seconds)

    def move_to(self, state: BranchState) -> None:
        """Stand on a newer state; data files are written again only for another schema."""
        if state.head.closed:
            raise gone(self.request.branch)
        if state.head.commit == self.base.state.head.commit and self.base.is_untouched:
            return
        schema_changed = not same_schema(state.head.schema, self.base.state.head.schema)
        self.base.move_to(state)
        if schema_changed:
            self.work.stage(self.base)

    def _may_repeat(self, error: Conflict, state: BranchState) -> bool:
        changed = isinstance(error, ExpectedVersionMismatch)
        return self.work.repeatable and changed and not state.head.closed

    def _plan(self) -> PublishPlan:
        head = self.base.state.head
        return PublishPlan(
            commit=self.commit_id,
            operation_id=self.operation_id,
            branch=self.request.branch,
            incarnation=self.base.state.ref.incarnation,
            base=head.ref,
            expected_schema=head.schema,
            operation=self.work.operation,
            commit_class=self.work.commit_class,
            reads=self.base.reads(),
            writes=self.base.writes(),
            drops=self.base.drops,
            schema=self.base.schema,
            if_commit=self.request.if_commit,
            actor=self.request.actor,
            message=self.request.message,
            merged_parent=self.base.merged_parent,
            streams=self.request.streams,
            key=self.claim.name if self.claim else "",
            answer=self.work.answer() if self.claim and isinstance(self.work, Answering) else {},
            staged_behind=self.staged_behind,
            sources=self.base.sources,
        )

    def _make_durable(self, plan: PublishPlan) -> None:
        on_main = plan.branch == MAIN
        main_seq = plan.base.seq if on_main else self.truth.state(MAIN).head.seq
        if not self.is_planned:
            self.flight.enter_context(in_flight(self.operation_id))
        self.is_planned = True
        write_plan(self.truth.store, DurablePlan(plan, this_process(), clock.current().now_us(), main_seq))
        # Versions that are taken over were not written behind any fence. Cleanup writes its list before it
        # looks for plans, and the lists are read here after the plan stands: one of the two sees the other.
        if plan.sources and (
            is_condemned(self.truth, plan, self.truth.condemned.newest())
            or not all(self.truth.chains.claims(source, plan.writes) for source in plan.sources)
        ):
            raise swept(self.request.branch)

    def _forget_plan(self) -> None:
        """Delete the plan of a write whose outcome is known; the next sweep does it when this fails."""
        if not self.is_planned:
            return
        try:
            delete_plan(self.truth.store, self.operation_id)
        except (OmniError, OSError) as error:
            _log.warning(
                "the plan of commit %s could not be deleted (%s); recovery will", self.commit_id, error
            )
        self.flight.close()
        self.operation_id, self.is_planned = new_ulid(), False


def _outcome_is_unknown(error: Exception) -> bool:
    """Say whether a publish that failed so may have happened; what the caller is told to repeat has not."""
    if isinstance(error, OSError | OutcomeUnknown):
        return True
    return isinstance(error, Unavailable) and error.retryable
