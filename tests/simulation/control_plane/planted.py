"""Flaws that the kernel must not have, planted one by one: each undoes one safety step of the kernel.

A simulation that does not find a planted flaw proves nothing about the kernel without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from omnigraph.graph.maintenance.cleanup.survey import LiveNames, Survey
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.condemned import CondemnedWatch
from omnigraph.graph.manifest.refs import Refs, StoredRef
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.recovery import plans


def _answer(value: Any) -> Callable[..., Any]:
    def answered(*args: Any, **options: Any) -> Any:
        return value

    return answered


def _untaken(store: Any, path: str) -> Any:
    """Take a plan over without telling its writer."""
    return plans.read_plan(store, path)


def _spare_all(self: CondemnedWatch, paths: Iterable[str]) -> int:
    return self.number


def _claim_without_veto(self: Chains, ref: Any, tables: Any = (), begins: bool = False) -> bool:
    return True


def _not_renewed(truth: Truth, found: Survey, seen: LiveNames) -> Survey:
    return found


def _take_mark_away(truth: Truth, stored: StoredRef, operation: str, actor: str | None) -> bool:
    assert stored.ref is not None
    truth.refs.unmark(stored.ref, stored.ref.marks)
    return True


_put_name = Refs.create


def _made_at_once(self: Refs, *given: Any) -> StoredRef:
    making = _put_name(self, *given)
    assert making.ref is not None
    return self._put(replace(making.ref, making=False, buried=None), making)


@dataclass(frozen=True)
class Flaw:
    """What is undone, and where its consequence shows."""

    what: str
    patches: Mapping[str, Any]
    theme: str
    histories: int = 2_000

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let the kernel have the flaw inside the block."""
        with ExitStack() as stack:
            for name, new in self.patches.items():
                stack.enter_context(patch(name, new))
            yield


FLAWS: dict[str, Flaw] = {
    "1a_lists_are_not_read": Flaw(
        "a commit that meets a fence does not look whether a cleanup has condemned what it names",
        {
            "omnigraph.graph.publish.publisher.is_condemned": _answer(False),
            "omnigraph.graph.write.own_plan.is_condemned": _answer(False),
            "omnigraph.graph.manifest.chain.Chains.claim_commit": _claim_without_veto,
            "omnigraph.graph.manifest.chain.Chains.holds": _claim_without_veto,
        },
        "merges",
    ),
    "1a_read_lists_are_not_heeded": Flaw(
        "a write that has read the lists of cleanups takes its files for spared whatever these name",
        {"omnigraph.graph.manifest.condemned.CondemnedWatch.spared_up_to": _spare_all},
        "sleepers",
    ),
    "1a_no_last_look": Flaw(
        "a cleanup does not look at what was published since it decided",
        {"omnigraph.graph.maintenance.cleanup.cleanup.find_published_since": _answer([])},
        "mixed",
    ),
    "1b_drops_come_back": Flaw(
        "a drop for good that comes late takes back what a later one of the same table says",
        {"omnigraph.graph.maintenance.cleanup.retention.join_drops": lambda one, other: {**one, **other}},
        "drops",
    ),
    "1b_names_are_not_heeded": Flaw(
        "a cleanup drops what somebody has named since its survey",
        {"omnigraph.graph.maintenance.cleanup.dropping.renew": _not_renewed},
        "names",
    ),
    "1d_deletes_are_not_called_off": Flaw(
        "who restores a branch takes the mark of a delete away and leaves nothing in its way",
        {"omnigraph.graph.branches.lifecycle.call_off": _take_mark_away},
        "rebases",
    ),
    "1c_schemas_by_content": Flaw(
        "a schema that is applied again has the name that it had before",
        {"omnigraph.graph.manifest.schemas.new_chain_id": _answer("AAAAAAAAAAAA")},
        "schemas",
    ),
    "1d_origin_is_not_checked": Flaw(
        "who makes a branch does not look at its origin after it has the name",
        {
            "omnigraph.graph.branches.create.check_origin": _answer(None),
            "omnigraph.graph.branches.lifecycle.check_origin": _answer(None),
        },
        "forks",
    ),
    "2_settlement_is_stepped_over": Flaw(
        "a writer does not look whether others have settled its plan",
        {
            "omnigraph.graph.publish.publisher.settlement": _answer(None),
            "omnigraph.graph.write.retry_lost_races.settlement": _answer(None),
        },
        "recovery",
    ),
    "2_plans_are_not_taken": Flaw(
        "recovery settles a plan that its writer may withdraw at the same time",
        {"omnigraph.graph.recovery.plans.take_plan": _untaken},
        "recovery",
        4_000,
    ),
    "3_numbers_are_used_again": Flaw(
        "a writer takes a number that a cleanup has freed for the next one",
        {"omnigraph.graph.manifest.truth.Truth.confirm_or_take_back": _answer(True)},
        "sleepers",
    ),
    "8_half_made_branches": Flaw(
        "a name is a branch before what it begins from is checked",
        {"omnigraph.graph.manifest.refs.Refs.create": _made_at_once},
        "forks",
    ),
    "renames_let_go": Flaw(
        "a rename lets go of the branch when another rename, or its own without an answer, has deleted it",
        {"omnigraph.graph.branches.rename.was_renamed": _answer(False)},
        "renames",
    ),
    "renames_of_others": Flaw(
        "a rename goes on as if it had ended the branch itself, whoever has, and whatever it had by then",
        {"omnigraph.graph.branches.rename._has_ended_as": _answer(True)},
        "renames",
    ),
    "renames_are_not_called_off": Flaw(
        "a cleanup lets go of what a rename holds and leaves nothing in its way",
        {"omnigraph.graph.branches.rename.put_call_off": _answer(True)},
        "renames",
    ),
    "protection_is_not_compared": Flaw(
        "a writer does not look whether the branch has been protected since it began",
        {"omnigraph.graph.publish.conflict._compare_protection": _answer(None)},
        "proposals",
    ),
    "gaps_are_stepped_over": Flaw(
        "a writer goes on with its plan though records are gone that may have said that it was given up",
        {
            "omnigraph.graph.publish.publisher.has_gaps": _answer(False),
            "omnigraph.graph.recovery.settle.has_gaps": _answer(False),
        },
        "proposals",
    ),
}
