"""The merge of a proposal as work for `commit`: a merge that looks at the proposal, and runs its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from omnigraph.base.errors import NotMergeable
from omnigraph.base.plain import to_full_object
from omnigraph.graph.internals import FindPairs
from omnigraph.graph.manifest.merge_base import merge_base
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.merge.plan import Options
from omnigraph.graph.merge.run import options
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.merge.work import Choose, MergeWork
from omnigraph.graph.opening import Core
from omnigraph.graph.proposals.demands import Demands, demands_on, find_reasons
from omnigraph.graph.proposals.fold import ProposalFacts
from omnigraph.graph.proposals.model import CheckResult, Reason
from omnigraph.graph.proposals.sides import involved_in, refuse_unseen
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.write_state import WriteBase

RunChecks = Callable[[Snapshot, Snapshot, Sequence[str]], tuple[CheckResult, ...]]
"""Runs checks on a merged result; they are what the target, the second snapshot, says that they are."""


class ProposalMerge(MergeWork):
    """A merge of a proposal; without `read_anew` it is only looked at, and demands nothing."""

    def __init__(
        self,
        core: Core,
        facts: ProposalFacts,
        run_checks: RunChecks,
        approvals_by_policy: int = 0,
        read_anew: Callable[[], ProposalFacts] | None = None,
        seen: CommitRecord | None = None,
        find_pairs: FindPairs | None = None,
    ) -> None:
        super().__init__(
            core,
            "merge",
            f"branch {facts.source!r}",
            f"branch {facts.into!r}",
            self._fix_source,
            options_of(facts, find_pairs),
        )
        self._facts, self._run_checks, self._read_anew = facts, run_checks, read_anew
        self._approvals_by_policy, self._seen = approvals_by_policy, seen
        self.source_state: BranchState
        """What is merged."""
        self._theirs: CommitRecord | None = None
        self._ours: CommitRecord | None = None
        self._demands: Demands | None = None
        self.checks: tuple[CheckResult, ...] = ()
        """How the checks have ended that were run last."""

    def _fix_source(self) -> Choose:
        self.source_state = self._core.truth.state(self._facts.source)
        theirs = self._theirs = self.source_state.head
        if self._seen is not None:
            refuse_unseen(self._facts.source, theirs, self._seen)
        return lambda ours: Sides(merge_base(self._core.truth.chains, ours, theirs), ours, theirs)

    def apply(self, base: WriteBase) -> None:
        """Look whether the proposal may be merged into this state of the target, and merge it."""
        head, theirs = base.state.head, self._theirs
        assert theirs is not None
        facts = self._facts if self._read_anew is None else self._read_anew()
        protection = head.protects(base.state.ref.incarnation)
        demands = self._demands = demands_on(facts, protection, self._approvals_by_policy)
        self._ours = head
        if self._read_anew is not None:
            involved = involved_in(self._core.truth, facts, head, theirs)
            reasons = find_reasons(facts, theirs, involved, demands)
            if reasons:
                raise not_mergeable(facts, reasons)
        super().apply(base)
        base.meets = protection
        if demands.checks:
            # A check may read any table: whatever changes there, or other checks, sends it back.
            base.relies_on_queries = True
            for entry in head.tables.values():
                base.rely_on(entry.key)

    def inspect(self, result: CommitRecord) -> None:
        """Run the checks on what the merge would make of the target."""
        assert self._demands is not None
        assert self._ours is not None
        if not self._demands.checks:
            return
        merged, target = (Snapshot(self._core, record, self._facts.into) for record in (result, self._ours))
        self.checks = self._run_checks(merged, target, self._demands.checks)
        if self._read_anew is not None and (reasons := reasons_of_checks(self.checks)):
            raise not_mergeable(self._facts, reasons, self.checks)

    def metadata(self) -> Mapping[str, str]:
        """Return what the commit notes: the proposal, its own notes, and how much the merge changed."""
        return {**super().metadata(), "proposal": self._facts.id, **self._facts.metadata}


def options_of(facts: ProposalFacts, find_pairs: FindPairs | None = None) -> Options:
    """Return how a proposal is merged: its strategy, and the saved answers.

    Who cannot run stored queries looks at it without those that find one thing under two ids.
    """
    rules = [rule for rule in facts.same_as if find_pairs is not None or "query" not in rule]
    return options(facts.strategy, list(facts.answers) or None, same_as=rules, find_pairs=find_pairs)


def reasons_of_checks(checks: Sequence[CheckResult]) -> tuple[Reason, ...]:
    """Return why the checks that were not passed keep a proposal from being merged."""
    return tuple(
        Reason(
            "check_failed",
            f"check {check.name!r} "
            + (f"cannot be run: {check.error}" if check.error else f"returns {_count(check)}, and must not"),
        )
        for check in checks
        if not check.ok
    )


def not_mergeable(
    facts: ProposalFacts, reasons: Sequence[Reason], checks: Sequence[CheckResult] = ()
) -> NotMergeable:
    """Return the error that says why a proposal cannot be merged."""
    why = "; ".join(reason.message for reason in reasons)
    return NotMergeable(
        f"proposal {facts.id} cannot be merged into {facts.into!r}: {why}. Nothing was changed",
        proposal=facts.id,
        reasons=[to_full_object(reason) for reason in reasons],
        checks=[to_full_object(check) for check in checks],
    )


def _count(check: CheckResult) -> str:
    more = "more than " if check.row_count > len(check.rows) else ""
    return f"{more}{len(check.rows)} row{'s' if len(check.rows) != 1 else ''}"
