"""Preparing a commit: work is applied to a state of its branch, and becomes a plan to publish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property

from omnigraph.base.errors import CorruptState, HistoricalVersionReclaimed, KeyConflict, ValidationError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_commit_id
from omnigraph.base.settings import Settings
from omnigraph.graph.manifest.condemned import CondemnedWatch
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.conflict import branch_gone_error
from omnigraph.graph.publish.fence import list_written_files, swept_error
from omnigraph.graph.publish.plan import PublishPlan, next_record
from omnigraph.graph.write.base_hold import BaseHold, keep_held
from omnigraph.graph.write.compact_on_write import tidy
from omnigraph.graph.write.keys import KeyClaim, claim_key
from omnigraph.graph.write.work import Answering, CommitRequest, CommitWork, Inspecting, Noting
from omnigraph.graph.write.write_state import WriteBase

_GIVES_ROWS = frozenset({"mutation", "load"})
"""Operations whose new rows come from whoever asks for them, not from commits of others."""


class Preparation:
    """One commit to be; its id is minted once, and its files are staged once for each schema."""

    def __init__(
        self,
        truth: Truth,
        settings: Settings,
        request: CommitRequest,
        work: CommitWork,
        state: BranchState,
        claim: KeyClaim | None = None,
    ) -> None:
        self.truth, self.settings, self.request, self.work = truth, settings, request, work
        self.base = WriteBase(truth.store, state)
        self.began = state
        """What files were first staged on; the state at hand may be newer."""
        self.claim = claim
        self.staged_behind = _find_staged_behind(truth, request, state)
        self.watch = CondemnedWatch(truth.condemned, self.staged_behind)
        self._hold = BaseHold(truth, settings, request.actor, state.head)
        self.plan: PublishPlan | None = None
        """What was prepared last."""

    @property
    def state(self) -> BranchState:
        """The state that the commit is prepared on."""
        return self.base.state

    @cached_property
    def commit_id(self) -> str:
        """The id that the commit will have."""
        return self.claim.commit if self.claim else new_commit_id(self.state.ref.incarnation)

    @property
    def is_logical(self) -> bool:
        """Whether the commit changes what the graph says."""
        return self.work.commit_class is CommitClass.LOGICAL

    def hold_base(self) -> AbstractContextManager[None]:
        """Return a block in which cleanups are asked to leave alone what a long write stands on."""
        return keep_held(self._hold, self._look_at_lists, self.request.lasting)

    def _look_at_lists(self) -> None:
        self.watch.look()

    def stage(self) -> None:
        """Write data files."""
        with self._without_stored_rows():
            self.work.stage(self.base)
        hit(Failpoint.WRITE_AFTER_STAGE)

    def stand_on(self, state: BranchState) -> None:
        """Stand on a newer state, on which data files are yet to be written."""
        if state.head.closed:
            raise branch_gone_error(self.request.branch)
        self.base.move_to(state)
        self._hold.move_to(state.head)

    def stage_again(self, state: BranchState) -> None:
        """Write all data files again, on a newer state: a cleanup may have removed some."""
        self.stand_on(state)
        self.staged_behind = newest_cleanup(self.truth, state)
        self.watch = CondemnedWatch(self.truth.condemned, self.staged_behind)
        self.stage()

    def move_to(self, state: BranchState) -> None:
        """Stand on a newer state; data files are written again only for another schema."""
        if state.head.closed:
            raise branch_gone_error(self.request.branch)
        if state.head.commit == self.state.head.commit and self.base.is_untouched:
            return
        schema_changed = not same_schema(state.head.schema, self.state.head.schema)
        self.base.move_to(state)
        self._hold.move_to(state.head)
        if schema_changed:
            with self._without_stored_rows():
                self.work.stage(self.base)

    def prepare(self, operation_id: str) -> PublishPlan:
        """Apply the work to the state at hand, and return what would publish it."""
        with self._without_stored_rows():
            self.work.apply(self.base)
        hit(Failpoint.WRITE_AFTER_ALL_TABLES)
        if self.is_logical:
            tidy(self.base, self.settings.small_fragments)
        plan = self.plan = self._behind_read_lists(self._plan(operation_id))
        if isinstance(self.work, Inspecting) and plan.changes_something:
            self.work.inspect(next_record(plan, self.state))
        if not all(self.truth.chains.holds(source, plan.writes) for source in plan.sources):
            raise swept_error(self.request.branch)  # what it takes over was dropped since it was chosen
        guard = self.request.guard
        if guard is not None and self.is_logical and plan.changes_something:
            given = self.work.operation in _GIVES_ROWS
            guard.check(self.state.head, next_record(plan, self.state), names_rows=given)
        self.base.flush()
        return plan

    @contextmanager
    def _without_stored_rows(self) -> Iterator[None]:
        """Let no error of the block tell of stored rows what the actor may not see."""
        try:
            yield
        except (KeyConflict, ValidationError) as error:
            if self.request.guard is None:
                raise
            raise self.request.guard.hide_stored_rows(error) from None

    def raise_if_swept(self, error: Exception, origin: BranchState) -> None:
        """Raise what became of the state that a write began from, when a cleanup took files of it."""
        # A schema that is gone looks like a lost one; it went with the last commit that had it.
        is_gone = isinstance(error, CorruptState) and self.truth.chains.has_dropped(origin.head.ref)
        if is_gone or isinstance(error, HistoricalVersionReclaimed):
            now = self.truth.refresh(origin, anew=True)
            if now.head.closed:
                raise branch_gone_error(self.request.branch) from error
            if now.head.commit != origin.head.commit:
                raise swept_error(self.request.branch) from error

    def _behind_read_lists(self, plan: PublishPlan) -> PublishPlan:
        """Return a plan that says which lists were read while it was staged and name none of its files."""
        if self.watch.number <= plan.staged_behind or plan.definitions or plan.sources or not plan.writes:
            return plan
        number = self.watch.spared_up_to(list_written_files(self.truth, plan))
        return plan if number is None else replace(plan, staged_behind=number)

    def _metadata(self) -> Mapping[str, str]:
        """Return what the commit notes: what the work says of itself, and what the caller has given."""
        noted = self.work.metadata() if isinstance(self.work, Noting) else {}
        return {**noted, **self.request.metadata}

    def _plan(self, operation_id: str) -> PublishPlan:
        head = self.state.head
        return PublishPlan(
            commit=self.commit_id,
            operation_id=operation_id,
            branch=self.request.branch,
            incarnation=self.state.ref.incarnation,
            base=head.ref,
            expected_schema=head.schema,
            expected_queries=head.queries,
            operation=self.work.operation,
            commit_class=self.work.commit_class,
            reads=self.base.reads(),
            writes=self.base.writes(),
            drops=self.base.drops,
            reclaims=self.base.reclaims,
            schema=self.base.schema,
            queries=self.base.queries,
            if_commit=self.request.if_commit,
            actor=self.request.actor,
            message=self.request.message,
            metadata=self._metadata(),
            merged_parent=self.base.merged_parent,
            streams=self.request.streams,
            key=self.claim.name if self.claim else "",
            answer=self.work.answer() if self.claim and isinstance(self.work, Answering) else {},
            staged_behind=self.staged_behind,
            sources=self.base.sources,
            relies_on_queries=self.base.relies_on_queries,
            meets=self.base.meets,
        )


def _find_staged_behind(truth: Truth, request: CommitRequest, state: BranchState) -> int:
    if request.staged_behind is not None:
        return request.staged_behind
    return newest_cleanup(truth, state) if request.durable else state.head.fence


def newest_cleanup(truth: Truth, state: BranchState) -> int:
    """Return the number of a cleanup that was written before anything that is staged on a state from now on.

    The fence of its head is one; but a branch that begins from an old commit has an old fence.
    """
    return state.head.fence if state.ref.name == MAIN else max(state.head.fence, truth.condemned.newest())


def claim_request(
    truth: Truth, request: CommitRequest, incarnation: str, work: CommitWork
) -> KeyClaim | None:
    """Claim the idempotency key of a request, if it has one."""
    if request.key is None:
        return None
    return claim_key(truth, incarnation, request.key, new_commit_id(incarnation), work.operation)
