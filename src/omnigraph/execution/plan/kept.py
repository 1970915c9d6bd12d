"""Plans that are kept: a query is planned again only when tables have grown or shrunk a lot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.plan.build import plan_read
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.plan.statistics import Statistics

_CAPACITY = 256


@dataclass(frozen=True, slots=True)
class _Kept:
    """A plan, which holds its query so that the query's id stays its own, and the state it was made for."""

    plan: ReadPlan
    commit: str
    size: tuple[int, ...]


class KeptPlans:
    """The plans of compiled queries; the least recently used go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, bool], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, query: ReadQuery, optimise: bool, commit: str, statistics: Callable[[], Statistics]
    ) -> ReadPlan:
        """Return the plan of a query at a commit, whose statistics are asked for only when they matter."""
        key = (id(query), optimise)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        if found is not None and found.commit == commit:
            return found.plan
        known = statistics()
        size = known.signature()
        plan = found.plan if found is not None and found.size == size else plan_read(query, known, optimise)
        with self._lock:
            self._kept[key] = _Kept(plan, commit, size)
            while len(self._kept) > _CAPACITY:
                self._kept.popitem(last=False)
        return plan
