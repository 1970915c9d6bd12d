"""Traversals over several hops: a breadth-first search from all starts at once, a join for each hop."""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import functions as F

from omnigraph.execution.spark.tables import FAR, NEAR

HOP_COLUMN = "hop"


def search_hops(starts: Any, pairs: Any, low: int, high: int, reverse: bool) -> Any:
    """Return (near, far, hop) for each start and node that a search reports; pairs are (near, far).

    A node is reported at its distance when that is within the bounds. One at the distance before the lowest
    is reported a hop later when the target of the traversal has a loop. So a search from either end finds
    the same pairs.
    """
    low = max(low, 1)
    pairs = pairs.localCheckpoint(eager=False)
    seen = [starts.select(F.col(NEAR), F.col(NEAR).alias(FAR)).distinct().localCheckpoint(eager=False)]
    for _ in range(high):
        ahead = pairs.select(F.col(NEAR).alias(FAR), F.col(FAR).alias("next"))
        reached = seen[-1].join(ahead, FAR).select(NEAR, F.col("next").alias(FAR)).distinct()
        fresh = reached.join(reduce(_union, seen), [NEAR, FAR], "left_anti").localCheckpoint(eager=False)
        # Checkpointed, so that the plan does not grow with the hops.
        if fresh.count() == 0:
            break
        seen.append(fresh)
    looped = pairs.filter(F.col(NEAR) == F.col(FAR)).select(F.col(NEAR).alias(NEAR if reverse else FAR))
    found = [
        frame.select(NEAR, FAR, F.lit(hop).cast("bigint").alias(HOP_COLUMN))
        for hop, frame in enumerate(seen)
        if low <= hop <= high
    ]
    if low - 1 < len(seen) and low <= high:
        before = seen[low - 1].join(looped, NEAR if reverse else FAR, "left_semi")
        found.append(before.select(NEAR, FAR, F.lit(low).cast("bigint").alias(HOP_COLUMN)))
    if not found:
        return seen[0].limit(0).select(NEAR, FAR, F.lit(0).cast("bigint").alias(HOP_COLUMN))
    return reduce(_union, found)


def _union(left: Any, right: Any) -> Any:
    return left.unionByName(right)
