"""Cached plans: the steps of a query are ordered again only if tables have grown or shrunk a lot.

Access paths are chosen again when what they were chosen from is no longer so: a small commit leaves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from omnigraph.base.lru import Lru
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.plan.access import AvailableData, RecordedData
from omnigraph.execution.plan.build import plan_read
from omnigraph.execution.plan.choose_access import choose_paths
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.plan.statistics import Statistics

_MAX_PLANS = 256


@dataclass(frozen=True, slots=True)
class _CachedPlan:
    """A plan and the state it was made for."""

    query: ReadQuery
    """Holding it keeps its id() from being reused; the plan may have another form of it."""
    ordered: ReadPlan
    plan: ReadPlan
    asked: RecordedData
    """What the choice of its paths has asked, and the answers."""
    commit: str
    changes: int
    size: tuple[int, ...]


class PlanCache:
    """The plans of compiled queries; the least recently used are evicted first."""

    def __init__(self) -> None:
        self._kept: Lru[tuple[int, bool], _CachedPlan] = Lru(_MAX_PLANS)

    def get(
        self,
        query: ReadQuery,
        optimise: bool,
        commit: str,
        changes: int,
        statistics: Callable[[], Statistics],
        available: AvailableData,
        renew: bool = False,
    ) -> ReadPlan:
        """Return the plan of a query at a commit; `changes` counts the changes of the available data.

        To `renew` it is to choose its paths by the numbers of this very commit.
        """
        key = (id(query), optimise)
        found = self._kept.get(key)
        if found is not None and found.commit == commit and found.changes == changes and not renew:
            return found.plan
        known = statistics()
        size = known.signature()
        if found is not None and found.size == size:
            ordered = found.ordered
            if not renew and found.asked.is_same(available):
                self._kept.put(key, replace(found, commit=commit, changes=changes))
                return found.plan
        else:
            ordered = plan_read(query, known, optimise)
        asked = RecordedData(available)
        plan = choose_paths(ordered, known, asked)
        self._kept.put(key, _CachedPlan(query, ordered, plan, asked.close(), commit, changes, size))
        return plan
