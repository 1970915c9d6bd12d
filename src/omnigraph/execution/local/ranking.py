"""Ranking: which nodes a search puts first, and the fusion of two rankings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Constant, RankFusion, Score, VectorDistance
from omnigraph.execution.local.frame import Frame, Positions
from omnigraph.execution.local.match import Matcher
from omnigraph.execution.local.values import Values


class Ranker:
    """Ranks the candidates of a query's variables, best first, ties by id."""

    def __init__(self, query: ReadQuery, values: Values, matcher: Matcher) -> None:
        self._query = query
        self._values = values
        self._matcher = matcher
        self._candidates: dict[tuple[int, bool], Positions] = {}

    def fuse(self, node: RankFusion) -> None:
        """Compute a rank fusion, for `Values` to read."""
        if node in self._values.fused:
            return
        slot = node.rankings[0].field.variable
        assert isinstance(node.k, Constant) and isinstance(node.k.value, int)
        scores = np.zeros(self._values.view(slot).rows)
        for ranking in node.rankings:
            best = self.best(slot, ranking, fused=False)
            scores[best] += 1 / (node.k.value + np.arange(1, len(best) + 1))
        self._values.fused[node] = np.where(scores > 0, scores, np.nan)

    def best(self, slot: int, score: Score, fused: bool = True) -> Positions:
        """Return the best candidates of a variable, as many as the query can show.

        Before fusions are known (`fused`), the filters that look at one choose nothing.
        """
        nodes, depth = self._nodes(slot, fused), self._depth()
        if isinstance(score, VectorDistance) and depth is not None:
            nodes = self._near(slot, score, nodes, depth)
        found = self._values.array(score, Frame(len(nodes), {slot: nodes}))
        kept = np.flatnonzero(np.asarray(found.is_valid().to_numpy(zero_copy_only=False)))
        numbers = np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)[kept]
        costs = numbers if isinstance(score, VectorDistance) else -numbers
        if depth is not None and depth < len(kept):
            worst = np.partition(costs, depth - 1)[depth - 1] if depth else -np.inf
            chosen = np.flatnonzero(costs <= worst)
            kept, costs = kept[chosen], costs[chosen]
        return nodes[kept[self._in_order(slot, nodes[kept], costs)]][:depth]

    def _in_order(
        self, slot: int, nodes: Positions, costs: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> Positions:
        ids = self._values.view(slot).column("id").take(pa.array(nodes)).to_pylist()
        order = sorted(range(len(nodes)), key=lambda at: (costs[at], ids[at].encode()))
        return np.array(order, dtype=np.int64)

    def _near(self, slot: int, score: VectorDistance, nodes: Positions, depth: int) -> Positions:
        """Return the nodes that can be among the nearest, by distances in single precision."""
        query = score.query
        if not isinstance(query, Constant) or not isinstance(query.value, tuple) or len(nodes) <= depth:
            return nodes
        asked = tuple(float(item) for item in query.value if isinstance(item, int | float))
        return self._values.view(slot).vectors(score.field.declared.name).nearest(nodes, asked, depth)

    def _nodes(self, slot: int, fused: bool) -> Positions:
        if (slot, fused) not in self._candidates:
            self._candidates[slot, fused] = self._matcher.candidates(slot, fused)
        return self._candidates[slot, fused]

    def _depth(self) -> int | None:
        limit, skip = self._query.limit, self._query.skip
        if not isinstance(limit, Constant) or not isinstance(limit.value, int):
            return None
        more = skip.value if isinstance(skip, Constant) and isinstance(skip.value, int) else 0
        return limit.value + more
