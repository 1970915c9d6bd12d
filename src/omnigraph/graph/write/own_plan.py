"""The durable plan of a write that is under way, which recovery may take for abandoned."""

from __future__ import annotations

import logging
from contextlib import ExitStack

from omnigraph.base import clock
from omnigraph.base.errors import OmniError
from omnigraph.base.ids import new_ulid
from omnigraph.graph.manifest.layout import plan_path
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.publish.fence import is_condemned, swept_error
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.recovery.owner import in_flight, this_process
from omnigraph.graph.recovery.plans import TAKEN, DurablePlan, delete_plan, withdraw_plan, write_plan
from omnigraph.graph.recovery.settle import settle_plan

_log = logging.getLogger("omnigraph")


class OwnPlan:
    """The durable plan of one operation; each that was settled or taken back is followed by another."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.operation_id = new_ulid()
        self.may_exist = False
        self._commit = ""
        self._flight = ExitStack()
        """While the plan exists, other threads of this process leave it alone."""

    def write(self, plan: PublishPlan) -> None:
        """Make a plan durable, so that a crash does not lose what was staged."""
        main_seq = plan.base.seq if plan.branch == MAIN else self._truth.state(MAIN).head.seq
        if not self.may_exist:
            self._flight.enter_context(in_flight(self.operation_id))
        self.may_exist, self._commit = True, plan.commit
        now = clock.current().now_us()
        write_plan(self._truth.store, DurablePlan(plan, this_process(), now, main_seq))
        # Versions that are taken over were not written behind any fence. Cleanup writes its list before it
        # looks for plans, and the lists are read here after the plan stands: one of the two sees the other.
        if plan.sources and (
            is_condemned(self._truth, plan, self._truth.condemned.newest())
            or not all(self._truth.chains.claim_commit(source, plan.writes) for source in plan.sources)
        ):
            raise swept_error(plan.branch)

    def withdraw(self) -> bool:
        """Take the plan back; say whether recovery may have made a commit of it.

        A write may be refused, or prepared anew, only when nobody else can publish what it had planned.
        """
        found = withdraw_plan(self._truth.store, plan_path(self.operation_id))
        if found is not None and found.state == TAKEN:
            settle_plan(self._truth, found)
        return found is None or found.state == TAKEN

    def forget(self) -> None:
        """Delete the plan of a write whose outcome is known; the next sweep does it when this fails."""
        if not self.may_exist:
            return
        try:
            delete_plan(self._truth.store, self.operation_id)
        except (OmniError, OSError) as error:
            _log.warning(
                "the plan of commit %s could not be deleted (%s); recovery will", self._commit, error
            )
        self.leave()
        self.operation_id, self.may_exist = new_ulid(), False

    def leave(self) -> None:
        """Let other threads of this process settle the plan, if it exists still."""
        self._flight.close()
