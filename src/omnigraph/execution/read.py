"""From the text of a read to its result: compile, bind, plan and run on one snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.base import clock, telemetry
from omnigraph.base.errors import BadInput
from omnigraph.base.lru import Lru
from omnigraph.base.settings import Settings
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.lower.bind import bind_read
from omnigraph.compiler.values.params import decode_params
from omnigraph.execution.embed.query_texts import embed_query
from omnigraph.execution.engine import (
    Availability,
    Engine,
    EngineChoice,
    Estimate,
    check_engine,
    choose_engine,
)
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.snapshot_cache import Memory, Views
from omnigraph.execution.local.run import run_read, stream_read
from omnigraph.execution.local.trace import Trace
from omnigraph.execution.plan.build import plan_read
from omnigraph.execution.plan.check_patterns import check_patterns
from omnigraph.execution.plan.choose_access import choose_paths
from omnigraph.execution.plan.explain import Explanation, explain
from omnigraph.execution.plan.nodes import Duplicates, ReadPlan
from omnigraph.execution.plan.plan_cache import PlanCache
from omnigraph.execution.query_cache import compile_read_at
from omnigraph.execution.result import Result, Stream, record_batch
from omnigraph.graph.snapshot import Snapshot

_RECENT_COMMITS = 4
"""Commits whose views are cached; the arrays that they have read are held by `Memory`."""

_MAX_BATCH_ROWS = 2**31 - 1
"""The largest batch, whatever the caller asks for."""


class BulkReader(Protocol):
    """An engine for reads that are too large for one process; it is loaded on first use."""

    def availability(self) -> Availability:
        """Return whether it may be used without being asked for."""

    def read(
        self, query: ReadQuery, plan: ReadPlan, snapshot: Snapshot, views: Views, budget: QueryBudget
    ) -> Result:
        """Run a bound read."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A read as the caller asks for it."""

    text: str
    params: Mapping[str, Any] | None = None
    name: str | None = None
    timeout: float | None = None
    """Time limit in seconds; 0 for none, None for the handle's own limit."""
    optimise: bool = True
    engine: str = "auto"

    def __post_init__(self) -> None:
        check_engine(self.engine)
        timeout = self.timeout
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            raise BadInput(f"timeout is {timeout!r}: give seconds, or None for the handle's own limit")


@dataclass(frozen=True, slots=True)
class _PreparedRead:
    """A query with its parameters, its plan, and what it reads."""

    bound: ReadQuery
    plan: ReadPlan
    views: Views


class Reader:
    """Runs the reads of one opened graph; they share cached arrays, plans and limits."""

    def __init__(self, settings: Settings, bulk: BulkReader | None = None) -> None:
        self._settings = settings
        self._bulk = bulk
        self._memory = Memory(settings.cache_bytes)
        self._plans = PlanCache()
        self._recent: Lru[str, Views] = Lru(_RECENT_COMMITS)

    def run(self, snapshot: Snapshot, request: ReadRequest) -> Result:
        """Return the result of a read."""
        budget = self._budget(request)
        ready = self._prepare(snapshot, request, budget)
        if self._is_for_spark(request, ready.plan) and self._bulk is not None:
            found = self._bulk.read(ready.bound, ready.plan, snapshot, ready.views, budget)
            self._trim()
            return found
        try:
            with budget.enforce():
                columns = run_read(ready.bound, ready.plan, ready.views, budget)
            budget.check()
        finally:
            self._trim()
        return Result(ready.bound.columns, _select_columns(ready.bound, columns), snapshot.commit_id)

    def solve(self, snapshot: Snapshot, query: ReadQuery) -> list[pa.Array]:
        """Return the columns of a bound read, one for each projection; a mutation reads so."""
        budget = QueryBudget(self._settings, None)
        views = self._views(snapshot)
        known = views.statistics
        plan = choose_paths(plan_read(query, known, True), known, views)
        bound = embed_query(plan.query, snapshot.embedder, budget) if plan.measures else plan.query
        try:
            with budget.enforce():
                columns = run_read(bound, plan, views, budget)
            budget.check()
        finally:
            self._trim()
        return columns

    def stream(self, snapshot: Snapshot, request: ReadRequest, batch_rows: int) -> Stream:
        """Return the result of a read as batches."""
        if not isinstance(batch_rows, int) or isinstance(batch_rows, bool) or batch_rows < 1:
            raise BadInput(f"batch_rows is {batch_rows!r}: a batch has at least one row")
        batch_rows = min(batch_rows, _MAX_BATCH_ROWS)
        budget = self._budget(request)
        ready = self._prepare(snapshot, request, budget)
        try:
            with budget.enforce():
                pieces = stream_read(ready.bound, ready.plan, ready.views, budget, batch_rows)
        finally:
            self._trim()
        batches = self._batches(ready.bound, pieces, batch_rows, budget)
        return Stream(ready.bound.columns, snapshot.commit_id, batches)

    def explain(self, snapshot: Snapshot, request: ReadRequest, analyze: bool) -> Explanation:
        """Return the plan of a read; with `analyze`, run it and add what its steps did."""
        budget = self._budget(request)
        ready = self._prepare(snapshot, request, budget, decode=analyze, renew=True)
        trace = None
        if analyze:
            trace = Trace(ready.views.read_so_far)
            with telemetry.measure() as counts:
                began = clock.current().monotonic()
                try:
                    with budget.enforce():
                        columns = run_read(ready.bound, ready.plan, ready.views, budget, trace)
                    budget.check()
                finally:
                    self._trim()
                trace.finish(clock.current().monotonic() - began, len(columns[0]), counts.as_dict())
        return explain(ready.plan, trace, ready.views.statistics, self._choose_engine(request, ready.plan))

    @property
    def cached_bytes(self) -> int:
        """Bytes of memory that cached arrays take."""
        return self._memory.nbytes

    def clear(self) -> None:
        """Drop everything that is cached."""
        self._memory.clear()
        self._recent.clear()

    def _choose_engine(self, request: ReadRequest, plan: ReadPlan) -> EngineChoice:
        spark = self._bulk.availability if self._bulk is not None else None
        return choose_engine(request.engine, lambda: self._estimate(plan), spark)

    def _estimate(self, plan: ReadPlan) -> Estimate | EngineChoice:
        if plan.largest is None:
            is_merged = plan.duplicates is not Duplicates.KEPT
            why = "equal rows are merged" if is_merged else "the result is limited"
            return EngineChoice(Engine.LOCAL, why)
        limit = self._settings.spark_query_rows
        return Estimate("the largest step is expected to have", plan.largest, "row", limit)

    def _is_for_spark(self, request: ReadRequest, plan: ReadPlan) -> bool:
        """Return whether Spark is to run a read; of a small one nothing else is asked."""
        is_small = plan.largest is None or plan.largest < self._settings.spark_query_rows
        if request.engine == Engine.LOCAL or (is_small and request.engine == Engine.AUTO):
            return False
        return self._choose_engine(request, plan).is_spark

    def _trim(self) -> None:
        """Evict cached arrays beyond the memory limit."""
        if self._memory.trim():
            self._recent.clear()

    def _views(self, snapshot: Snapshot) -> Views:
        """Return the views of a commit, the same for reads that follow each other."""
        name = snapshot.view_id
        found = self._recent.get(name)
        return self._recent.setdefault(name, Views(snapshot, self._memory)) if found is None else found

    def _prepare(
        self,
        snapshot: Snapshot,
        request: ReadRequest,
        budget: QueryBudget,
        decode: bool = True,
        renew: bool = False,
    ) -> _PreparedRead:
        query = compile_read_at(snapshot, request.text, request.name)
        views = self._views(snapshot)
        plan = self._plans.get(
            query,
            request.optimise,
            views.name,
            views.changes,
            lambda: views.statistics,
            views,
            renew,
        )
        if not decode:
            return _PreparedRead(plan.query, plan, views)
        declared = [(item.name, item.type) for item in query.parameters]
        now = clock.current().now_us() // 1000
        bound = bind_read(plan.query, decode_params(request.params, declared), now)
        if plan.has_patterns:
            check_patterns(bound)
        if plan.measures:
            bound = embed_query(bound, snapshot.embedder, budget)
        return _PreparedRead(bound, plan, views)

    def _batches(
        self, query: ReadQuery, pieces: Iterator[list[pa.Array]], rows: int, budget: QueryBudget
    ) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                with budget.enforce():
                    piece = next(pieces, None)
            finally:
                self._trim()  # now: an abandoned stream may never be closed
            if piece is None:
                return
            whole = record_batch(query.columns, _select_columns(query, piece))
            for start in range(0, whole.num_rows, rows):
                yield whole.slice(start, rows)

    def _budget(self, request: ReadRequest) -> QueryBudget:
        return QueryBudget(self._settings, request.timeout)


def _select_columns(query: ReadQuery, columns: list[pa.Array]) -> list[pa.Array]:
    """Return the columns of a result, one for each name, in the order in which names first occur."""
    columns_of = zip(query.projections, columns, strict=True)
    by_name = {item.name: column for item, column in columns_of if not item.hidden}
    return [by_name[column.name] for column in query.columns]
