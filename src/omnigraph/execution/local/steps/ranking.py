"""Ranking: the best nodes of a search, and the fusion of two rankings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Constant, EntityId, RankFusion, Score, TextScore, VectorDistance
from omnigraph.execution.local.cache.ranks import rank
from omnigraph.execution.local.frame import Frame, Positions
from omnigraph.execution.local.sorting import lexical_order
from omnigraph.execution.local.steps.match import Matcher
from omnigraph.execution.local.steps.values import Scored, Values
from omnigraph.execution.local.trace import Trace
from omnigraph.execution.plan.access import Access
from omnigraph.execution.plan.nodes import RankNodes, ReadPlan
from omnigraph.execution.plan.used_variables import own_parts_of

_MAX_NODES_WITHOUT_RANKS = 512
"""The most nodes that are sorted in Python, which is faster than by ranks."""


class Ranker:
    """Ranks the candidates of a query's variables, best first, ties by id."""

    def __init__(
        self, query: ReadQuery, plan: ReadPlan, values: Values, matcher: Matcher, trace: Trace | None
    ) -> None:
        self._query = query
        self._plan = plan
        self._values = values
        self._matcher = matcher
        self._trace = trace
        self._candidates: dict[tuple[int, bool], Positions] = {}
        self._planned = dict(_match_to_plan(query, plan))

    def fuse(self, node: RankFusion) -> None:
        """Compute a rank fusion, and store its scores in `Values`."""
        if node in self._values.fused:
            return
        assert isinstance(node.k, Constant) and isinstance(node.k.value, int)
        ranked = [self.best(ranking, fused=False) for ranking in node.rankings]
        # In floats: the largest k has no integer above it.
        parts = [1 / (float(node.k.value) + np.arange(1, len(best) + 1)) for best in ranked]
        nodes, at = np.unique(np.concatenate(ranked), return_inverse=True)
        scores = np.bincount(at, np.concatenate(parts), len(nodes)).astype(np.float64)
        self._values.fused[node] = Scored(nodes, scores)

    def best(self, score: Score, fused: bool = True) -> Positions:
        """Return the best candidates of a variable, as many as the result can have.

        If later sort keys choose among equal scores, all that tie with the last one are included.
        Without `fused`, fusions are not known yet, and filters on them are not applied.
        """
        rank = self._planned[score, fused]
        began = self._trace.start() if self._trace else None
        nodes = self._find_candidates(rank)
        best = self._best(rank, score, nodes)
        if self._trace and began:
            self._trace.add(rank, len(nodes), len(best), began)
        return best

    def _best(self, rank: RankNodes, score: Score, nodes: Positions) -> Positions:
        slot, depth = rank.variable, self._depth()
        found = self._score(rank, score, nodes, depth)
        costs = found.scores if isinstance(score, VectorDistance) else -found.scores
        chosen = np.arange(len(costs), dtype=np.int64)
        if depth is not None and depth < len(costs):
            worst = np.partition(costs, depth - 1)[depth - 1] if depth else -np.inf
            chosen = np.flatnonzero(costs <= worst)
        if rank.fused and len(self._query.order) > 1:
            return found.nodes[chosen]
        return self._sort_by_cost(slot, found.nodes[chosen], costs[chosen])[:depth]

    def _score(self, rank: RankNodes, score: Score, nodes: Positions, depth: int | None) -> Scored:
        """Return the candidates with a score; for vectors, only those that can be among the nearest."""
        slot = rank.variable
        rows = self._values.view(slot).rows
        if isinstance(score, TextScore) and isinstance(score.text, Constant):
            return self._values.text_scores(score, score.text.value).among(nodes, rows)
        if isinstance(score, RankFusion):
            return self._values.fused[score].among(nodes, rows)
        if isinstance(score, VectorDistance) and depth is not None:
            nodes = self._narrow_to_nearest(rank, score, nodes, depth)
        found = self._values.array(score, Frame(len(nodes), {slot: nodes}))
        kept = np.flatnonzero(np.asarray(found.is_valid().to_numpy(zero_copy_only=False)))
        return Scored(nodes[kept], np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)[kept])

    def _sort_by_cost(
        self, slot: int, nodes: Positions, costs: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> Positions:
        frame = Frame(len(nodes), {slot: nodes})
        if len(nodes) <= _MAX_NODES_WITHOUT_RANKS:
            ids = self._values.array(EntityId(slot), frame).to_pylist()
            order = sorted(range(len(nodes)), key=lambda at: (costs[at], ids[at].encode()))
            return nodes[np.array(order, dtype=np.int64)]
        ranked = self._values.ranks(EntityId(slot), frame)
        return nodes[lexical_order([rank(pa.array(costs)).codes, ranked.codes])]

    def _narrow_to_nearest(
        self, rank: RankNodes, score: VectorDistance, nodes: Positions, depth: int
    ) -> Positions:
        """Return the nodes that can be among the nearest, by distances in single precision."""
        query = score.query
        if not isinstance(query, Constant) or not isinstance(query.value, tuple) or len(nodes) <= depth:
            return nodes
        asked = tuple(float(item) for item in query.value if isinstance(item, int | float))
        view, name = self._values.view(rank.variable), score.field.declared.name
        return view.nearest(name, nodes, asked, depth, indexed=rank.best.access is Access.VECTORS)

    def _find_candidates(self, rank: RankNodes) -> Positions:
        place = (rank.variable, rank.fused)
        if place not in self._candidates:
            self._candidates[place] = self._matcher.candidates(rank)
        return self._candidates[place]

    def _depth(self) -> int | None:
        limit, skip = self._query.limit, self._query.skip
        if not isinstance(limit, Constant) or not isinstance(limit.value, int):
            return None
        more = skip.value if isinstance(skip, Constant) and isinstance(skip.value, int) else 0
        return limit.value + more


def _match_to_plan(query: ReadQuery, plan: ReadPlan) -> Iterator[tuple[tuple[Score, bool], RankNodes]]:
    """Yield each ranking of a bound query, and whether fusions are known, with its step of the plan.

    A plan is made without parameters, so its scores are matched with those of the query by place.
    """
    steps = {(rank.score, rank.fused): rank for rank in plan.rankings}
    fusions = zip(own_parts_of(plan.query, RankFusion), own_parts_of(query, RankFusion), strict=True)
    for planned, bound in fusions:
        for before, now in zip(planned.rankings, bound.rankings, strict=True):
            yield (now, False), steps[before, False]
    if query.ranking is not None and query.ranking.candidates is not None:
        assert plan.query.ranking is not None
        yield (query.ranking.score, True), steps[plan.query.ranking.score, True]
