"""Running a bound read on a snapshot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import RankFusion
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.frame import Frame, Positions
from omnigraph.execution.local.stages import FirstRows, begin, find_unread
from omnigraph.execution.local.steps.expand_paths import check_weights
from omnigraph.execution.local.steps.match import Matcher
from omnigraph.execution.local.steps.project import Shaper
from omnigraph.execution.local.steps.ranking import Ranker
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.local.trace import Trace
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.plan.used_variables import own_parts_of

_NOTHING_BEFORE = FirstRows()


def run_read(
    query: ReadQuery, plan: ReadPlan, views: Views, budget: QueryBudget, trace: Trace | None = None
) -> list[pa.Array]:
    """Return the result's columns, one for each projection."""
    if plan.weighs:
        check_weights(query, views)
    frames, shaper = _prepare(query, plan, views, budget, trace)
    return shaper.result(frames)


def stream_read(
    query: ReadQuery, plan: ReadPlan, views: Views, budget: QueryBudget, rows: int
) -> Iterator[list[pa.Array]]:
    """Yield the result's columns, about `rows` rows at a time where possible."""
    if plan.weighs:
        check_weights(query, views)
    frames, shaper = _prepare(query, plan, views, budget, None)
    return shaper.pieces(frames, rows)


def run_searches(
    query: ReadQuery, plan: ReadPlan, views: Views, budget: QueryBudget
) -> tuple[Values, dict[int, Positions]]:
    """Return the values of a query with its rank fusions, and the nodes that its ranking chose."""
    ranks_matches = any(rank.among is not None for rank in plan.rankings)
    beginning = _begin(query, plan, views, budget, None) if ranks_matches else _NOTHING_BEFORE
    return _search(query, plan, views, budget, None, beginning)


def _search(
    query: ReadQuery,
    plan: ReadPlan,
    views: Views,
    budget: QueryBudget,
    trace: Trace | None,
    beginning: FirstRows,
) -> tuple[Values, dict[int, Positions]]:
    values = Values(query, views, beginning.values)
    best: dict[int, Positions] = {}
    if plan.searches:
        matcher = Matcher(query, plan, views, values, budget, {}, trace, beginning.frame)
        ranker = Ranker(query, plan, values, matcher, trace)
        for fusion in own_parts_of(query, RankFusion):
            ranker.fuse(fusion)
        if query.ranking is not None and query.ranking.candidates is not None:
            best[query.ranking.candidates] = ranker.best(query.ranking.score)
    return values, best


def _prepare(
    query: ReadQuery, plan: ReadPlan, views: Views, budget: QueryBudget, trace: Trace | None
) -> tuple[Iterator[Frame], Shaper]:
    beginning = _begin(query, plan, views, budget, trace)
    values, best = _search(query, plan, views, budget, trace, beginning)
    frames = Matcher(query, plan, views, values, budget, best, trace, beginning.frame).frames()
    if query.ranking is not None:
        frames = (_keep_scored(query, values, frame) for frame in frames)
    return frames, Shaper(query, values, budget, plan.duplicates)


def _begin(
    query: ReadQuery, plan: ReadPlan, views: Views, budget: QueryBudget, trace: Trace | None
) -> FirstRows:
    """Run the stage before a query, or the parts of its union."""
    if query.source is None:
        return _NOTHING_BEFORE
    parts = []
    for number, (read, planned) in enumerate(zip(query.source.reads, plan.sources, strict=True)):
        began = trace.start() if trace else None
        frames, shaper = _prepare(read, planned, views, budget, trace)
        columns, frame = shaper.rows(frames, find_unread(query, number))
        budget.check_rows(len(columns[0]))
        if trace and began:
            trace.add(planned, 0, len(columns[0]), began)
        parts.append((columns, frame))
    return begin(query, parts)


def _keep_scored(query: ReadQuery, values: Values, frame: Frame) -> Frame:
    """Return the rows that have a score."""
    assert query.ranking is not None
    scores = values.array(query.ranking.score, frame)
    return frame.keep(np.asarray(scores.is_valid().to_numpy(zero_copy_only=False), dtype=bool))
