"""Ranking: which nodes a search puts first, and the fusion of two rankings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Constant, RankFusion, Score, VectorDistance
from omnigraph.execution.local.frame import Frame
from omnigraph.execution.local.match import Matcher
from omnigraph.execution.local.values import Values
from omnigraph.execution.local.views import Positions, Views


class Ranker:
    """Ranks the candidates of a query's variables, best first, ties by id."""

    def __init__(self, query: ReadQuery, views: Views, values: Values, matcher: Matcher) -> None:
        self._query = query
        self._views = views
        self._values = values
        self._matcher = matcher

    def fuse(self, node: RankFusion) -> None:
        """Compute a rank fusion, for `Values` to read."""
        if node in self._values.fused:
            return
        slot = node.rankings[0].field.variable
        assert isinstance(node.k, Constant) and isinstance(node.k.value, int)
        scores: dict[int, float] = {}
        for ranking in node.rankings:
            for rank, position in enumerate(self.best(slot, ranking), 1):
                scores[int(position)] = scores.get(int(position), 0.0) + 1 / (node.k.value + rank)
        rows = self._views.table(self._key(slot)).rows
        self._values.fused[node] = pa.array([scores.get(row) for row in range(rows)], pa.float64())

    def best(self, slot: int, score: Score) -> Positions:
        """Return the best candidates of a variable, as many as the query can show."""
        if isinstance(score, RankFusion):
            self.fuse(score)
        nodes = self._matcher.candidates(slot, self._query.match.steps)
        found = self._values.array(score, Frame(len(nodes), {slot: nodes}))
        ids = self._views.table(self._key(slot)).column("id")
        sign = 1 if isinstance(score, VectorDistance) else -1
        ranked = sorted(
            (sign * value, ids[int(node)].as_py(), int(node))
            for node, value in zip(nodes, found.to_pylist(), strict=True)
            if value is not None
        )
        return np.array([node for _, _, node in ranked[: self._depth()]], dtype=np.int64)

    def _key(self, slot: int) -> str:
        variable = self._query.variables[slot]
        return f"{variable.kind.value}:{variable.type_name}"

    def _depth(self) -> int | None:
        limit, skip = self._query.limit, self._query.skip
        if not isinstance(limit, Constant) or not isinstance(limit.value, int):
            return None
        more = skip.value if isinstance(skip, Constant) and isinstance(skip.value, int) else 0
        return limit.value + more


def fusions_of(node: object) -> list[RankFusion]:
    """Return every rank fusion below a node of a query."""
    if isinstance(node, RankFusion):
        return [node]
    if isinstance(node, tuple):
        return [found for item in node for found in fusions_of(item)]
    names = getattr(type(node), "__dataclass_fields__", {})
    ours = type(node).__module__.startswith("omnigraph.compiler.ir")
    return [found for name in names for found in fusions_of(getattr(node, name))] if ours else []
