"""From the text of a read to its result: compile, bind, plan and run on one snapshot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.base import clock, telemetry
from omnigraph.base.settings import Settings
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.lower.bind import bind_read
from omnigraph.compiler.values.params import decode_params
from omnigraph.execution.compiled import compiled
from omnigraph.execution.embedding import embed_query
from omnigraph.execution.local.budget import Budget
from omnigraph.execution.local.run import run_read, stream_read
from omnigraph.execution.local.trace import Trace
from omnigraph.execution.local.views import Memory, Views
from omnigraph.execution.plan.build import plan_read
from omnigraph.execution.plan.explain import Explanation, explain
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.plan.statistics import Statistics
from omnigraph.execution.result import Result, Stream, arrow_schema
from omnigraph.graph.snapshot import Snapshot

_PLANS = 256
_RECENT = 4
"""Commits whose views are kept ready; what they have read is kept by the memory."""


class Reader:
    """Reads of one opened graph: what they share is the memory of arrays, the plans and the limits."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memory = Memory(settings.cache_bytes)
        self._plans: OrderedDict[tuple[int, bool], Planned] = OrderedDict()
        self._recent: OrderedDict[str, Views] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, snapshot: Snapshot, request: Request) -> Result:
        """Return the result of a read."""
        ready = self._ready(snapshot, request)
        columns = run_read(ready.bound, ready.plan, self._views(snapshot), self._budget(request))
        return Result(ready.bound.columns, _shown(ready.bound, columns), snapshot.commit_id)

    def stream(self, snapshot: Snapshot, request: Request, batch_rows: int) -> Stream:
        """Return the result of a read as batches."""
        ready = self._ready(snapshot, request)
        pieces = stream_read(ready.bound, ready.plan, self._views(snapshot), self._budget(request))
        batches = _batches(ready.bound, pieces, batch_rows)
        return Stream(ready.bound.columns, snapshot.commit_id, batches)

    def explain(self, snapshot: Snapshot, request: Request, analyze: bool) -> Explanation:
        """Return the plan of a read, with what its steps really did when it is run."""
        ready = self._ready(snapshot, request, decode=analyze)
        trace = None
        if analyze:
            trace = Trace()
            with telemetry.measure() as counts:
                began = clock.current().monotonic()
                views = self._views(snapshot)
                columns = run_read(ready.bound, ready.plan, views, self._budget(request), trace)
                trace.finish(clock.current().monotonic() - began, len(columns[0]), counts.as_dict())
        return explain(ready.plan, trace, self._statistics(snapshot))

    def clear(self) -> None:
        """Let go of what was read."""
        self._memory.clear()
        with self._lock:
            self._recent.clear()

    def _views(self, snapshot: Snapshot) -> Views:
        """Return the views of a commit, the same for reads that follow each other."""
        found = self._recent.get(snapshot.commit_id)
        if found is None:
            found = Views(snapshot, self._memory)
            with self._lock:
                self._recent[snapshot.commit_id] = found
                while len(self._recent) > _RECENT:
                    self._recent.popitem(last=False)
        return found

    def _ready(self, snapshot: Snapshot, request: Request, decode: bool = True) -> Ready:
        query = compiled(request.text, snapshot.catalog, request.name, "read")
        assert isinstance(query, ReadQuery)
        plan = self._plan(query, snapshot, request.optimise)
        if not decode:
            return Ready(query, plan)
        declared = [(item.name, item.type) for item in query.parameters]
        now = clock.current().now_us() // 1000
        bound = bind_read(query, decode_params(request.params, declared), now)
        return Ready(embed_query(bound, snapshot.embedder) if plan.measures else bound, plan)

    def _plan(self, query: ReadQuery, snapshot: Snapshot, optimise: bool) -> ReadPlan:
        """Return the plan of a query, made anew when tables have grown or shrunk a lot."""
        key = (id(query), optimise)
        with self._lock:
            found = self._plans.get(key)
        if found is not None and found.plan.query is query:
            if found.commit == snapshot.commit_id:
                return found.plan
            size = self._statistics(snapshot).signature()
            if found.size == size:
                return found.plan
        statistics = self._statistics(snapshot)
        made = Planned(plan_read(query, statistics, optimise), snapshot.commit_id, statistics.signature())
        with self._lock:
            self._plans[key] = made
            self._plans.move_to_end(key)
            while len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return made.plan

    def _statistics(self, snapshot: Snapshot) -> Statistics:
        return Statistics(snapshot.catalog, {table.key: table.rows for table in snapshot.tables})

    def _budget(self, request: Request) -> Budget:
        return Budget(self._settings, request.timeout)


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller asks for."""

    text: str
    params: Mapping[str, Any] | None = None
    name: str | None = None
    timeout: float | None = None
    """Seconds that the read may take; None for the handle's own limit."""
    optimise: bool = True


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, which holds its query so that the query's id stays its own, and the state it was made for."""

    plan: ReadPlan
    commit: str
    size: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """A query with its parameters, and its plan."""

    bound: ReadQuery
    plan: ReadPlan


def _shown(query: ReadQuery, columns: list[pa.Array]) -> list[pa.Array]:
    """Return the columns that a result shows, in the order of their names' first places."""
    by_name = {item.name: column for item, column in zip(query.projections, columns, strict=True)}
    return [by_name[column.name] for column in query.columns]


def _batches(query: ReadQuery, pieces: Iterator[list[pa.Array]], rows: int) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(query.columns)
    for piece in pieces:
        whole = pa.RecordBatch.from_arrays(_shown(query, piece), schema=schema)
        for start in range(0, whole.num_rows, rows):
            yield whole.slice(start, rows)
