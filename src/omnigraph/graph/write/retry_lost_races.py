"""A write that is tried again after a lost race: prepared on the newest state, and published once."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from omnigraph.base.errors import (
    Contention,
    ExpectedVersionMismatch,
    HistoricalVersionReclaimed,
    OmniError,
)
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.publish.conflict import (
    Conflicting,
    compare_with_head,
)
from omnigraph.graph.publish.fence import swept_error
from omnigraph.graph.publish.outcome import (
    Discarded,
    FilesMayBeGone,
    Published,
    PublishOutcome,
    may_have_landed,
)
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.publish.publisher import publish, settlement
from omnigraph.graph.write.own_plan import OwnPlan
from omnigraph.graph.write.prepare import Preparation
from omnigraph.graph.write.work import Restaging
from omnigraph.storage.writer_lock import turn

_RACES_BEFORE_LOCKING = 2
_MAX_STAGINGS = 4
"""How often a write is staged at most, when cleanups take what it stands on or has staged."""


class RetriedWrite:
    """One commit in progress: prepared and published, again and again until one of the two says no."""

    def __init__(self, prepared: Preparation) -> None:
        self._prepared, self._truth, self._settings = prepared, prepared.truth, prepared.settings
        self._branch, self._work = prepared.request.branch, prepared.work
        self._own_plan = OwnPlan(prepared.truth)
        self._stagings_left = _MAX_STAGINGS
        self._lost = 0
        """How many attempts another writer has undone."""
        self._sent = False
        """Whether a publish was begun whose outcome has not come back."""

    def run(self) -> Published | None:
        """Carry the work out, and take its durable plan back unless only recovery can tell its outcome."""
        try:
            with self._hold_base():
                published = self._stage() or self._attempts()
        except (OmniError, OSError) as error:
            if self._sent and may_have_landed(error):
                raise
            if (published := self._withdraw_after(error)) is not None:
                return published
            self._prepared.raise_if_swept(error, self._prepared.began)
            raise
        else:
            self._own_plan.forget()  # before it is left: others take a plan that is left for abandoned
            return published
        finally:
            self._own_plan.leave()

    def _hold_base(self) -> AbstractContextManager[None]:
        return self._prepared.hold_base() if self._prepared.request.durable else nullcontext()

    def _stage(self) -> Published | None:
        """Stage, again on the newest state when a cleanup has taken the one that it was begun on.

        Returns the commit if it stands there already, because another has sent the same key.
        """
        while True:
            self._stagings_left -= 1
            try:
                self._prepared.stage()
                return None
            except HistoricalVersionReclaimed:
                state = self._find_next() if self._stagings_left else None
                if state is None:
                    raise
                if isinstance(state, Published):
                    return state
                self._prepared.stand_on(state)

    def _find_next(self) -> BranchState | Published | None:
        """Return a newer state that the work may go on with, or this very commit if it stands there.

        None if there is none. Work that is not repeatable goes on where only maintenance has come between.
        """
        known = self._prepared.state
        state = self._truth.refresh(known, anew=True)
        if state.head.closed or state.head.commit == known.head.commit:
            return None
        if isinstance(settled := self._find_settlement(state), Published):
            return settled
        return state if self._work.repeatable or state.head.content == known.head.content else None

    def _withdraw_after(self, error: Exception) -> Published | None:
        """Take the plan back after an error; whether nothing was written is not known until that is done."""
        try:
            return self._withdraw()
        except (OmniError, OSError) as failure:
            if may_have_landed(error):
                return None
            raise failure from error

    def _withdraw(self) -> Published | None:
        """Take the durable plan back; return the commit if recovery has made one of it, or is about to."""
        if not self._own_plan.may_exist:
            return None
        settled = None
        if self._own_plan.withdraw():
            settled = self._find_settlement(self._truth.refresh(self._prepared.state))
        self._own_plan.forget()
        return settled if isinstance(settled, Published) else None

    def _attempts(self) -> Published | None:
        """Attempt until the work is published, turns out to change nothing, or may not be tried again."""
        for _ in range(self._settings.prepare_retries + 1):
            try:
                plan, outcome = self._attempt()
            except HistoricalVersionReclaimed:
                # A cleanup has dropped the state that this was being prepared on.
                following = None if self._sent else self._withdraw() or self._find_next()
                if following is None:
                    raise
                if isinstance(following, Published):
                    return following
                self._prepared.move_to(following)
                self._lost += 1
                continue
            if outcome is None or isinstance(outcome, Published):
                return outcome
            if isinstance(outcome, FilesMayBeGone) and not self._can_stage_again():
                raise swept_error(self._branch)
            if (published := self._withdraw()) is not None:
                return published
            state = self._newest()
            if isinstance(state, Published):
                return state
            assert plan is not None
            # Where only maintenance had come between, more may have come by now.
            verdict = outcome if isinstance(outcome, Conflicting) else compare_with_head(plan, state.head)
            if isinstance(verdict, Conflicting) and not self._may_repeat(verdict.error, state):
                raise verdict.error
            if isinstance(outcome, FilesMayBeGone):
                self._stagings_left -= 1
                self._prepared.stage_again(state)
            else:
                self._prepared.move_to(state)
            self._lost += 1
        raise Contention(
            f"other writers of branch {self._branch!r} changed the same tables "
            f"{self._settings.prepare_retries + 1} times in a row: try again",
            branch=self._branch,
            tries=self._settings.prepare_retries + 1,
        )

    def _attempt(self) -> tuple[PublishPlan | None, PublishOutcome | None]:
        with self._turn() as mine:
            if mine and self._work.repeatable:
                state = self._newest()
                if isinstance(state, Published):
                    return None, state
                self._prepared.move_to(state)
            plan = self._prepared.prepare(self._own_plan.operation_id)
            if not plan.changes_something:
                return plan, None
            if self._prepared.request.durable:
                self._own_plan.write(plan)
            self._sent = True
            outcome = publish(self._truth, plan, self._prepared.state, self._settings.publish_retries)
            self._sent = False
            return plan, outcome

    def _newest(self) -> BranchState | Published:
        """Return the newest state of the branch, or this very commit if it stands there already.

        Recovery may have taken this writer for dead and have published its plan, or discarded it. What was
        discarded can be tried again, as another operation.
        """
        state = self._truth.refresh(self._prepared.state)
        settled = self._find_settlement(state)
        return settled if isinstance(settled, Published) else state

    def _find_settlement(self, state: BranchState) -> Published | Discarded | None:
        """Return what has become of this write since the state that it stands on."""
        known, commit_id = self._prepared.state, self._prepared.commit_id
        if state.head.commit == known.head.commit or not (self._own_plan.may_exist or self._prepared.claim):
            return None  # nobody else can have published it
        if self._prepared.plan is not None:
            return settlement(self._truth, self._prepared.plan, state, known)
        # Not prepared yet: only who has the same key can have published it.
        found = self._truth.find(commit_id, state, known.head.seq)
        if found is None and self._truth.has_lost(commit_id, state, known):
            raise self._truth.unknown(commit_id, self._branch)
        return Published.as_stored(found) if found is not None else None

    def _turn(self) -> AbstractContextManager[bool]:
        # Maintenance takes long and can lose: it must not keep writers waiting. Having lost twice, it has
        # done what takes long, and repeats little.
        if not self._prepared.is_logical and self._lost < _RACES_BEFORE_LOCKING:
            return nullcontext(False)
        incarnation = self._prepared.state.ref.incarnation
        return turn(self._truth.store, incarnation, self._settings.turn_seconds)

    def _can_stage_again(self) -> bool:
        work = self._work
        return isinstance(work, Restaging) and work.can_stage_again and self._stagings_left > 0

    def _may_repeat(self, error: OmniError, state: BranchState) -> bool:
        changed = isinstance(error, ExpectedVersionMismatch)
        return self._work.repeatable and changed and not state.head.closed
