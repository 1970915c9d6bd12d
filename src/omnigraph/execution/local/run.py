"""Running a bound read on a snapshot."""

from __future__ import annotations

import numpy as np

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.local.match import Matcher
from omnigraph.execution.local.ranking import Ranker, fusions_of
from omnigraph.execution.local.shape import Row, shape
from omnigraph.execution.local.values import Values
from omnigraph.execution.local.views import Positions, Views


def run_read(query: ReadQuery, views: Views, row_limit: int) -> list[Row]:
    """Return the result's rows, one plain value for each projection."""
    values = Values(query, views)
    best: dict[int, Positions] = {}
    matcher = Matcher(query, views, values, row_limit, best)
    ranker = Ranker(query, views, values, matcher)
    for fusion in fusions_of(query):
        ranker.fuse(fusion)
    if query.ranking is not None and query.ranking.candidates is not None:
        best[query.ranking.candidates] = ranker.best(query.ranking.candidates, query.ranking.score)
    frame = matcher.run()
    if query.ranking is not None:
        scores = values.array(query.ranking.score, frame)
        frame = frame.keep(np.asarray(scores.is_valid().to_numpy(zero_copy_only=False), dtype=bool))
    return shape(query, values, frame)
