"""How many values columns have, estimated from rows that lie evenly over a table version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.lance_errors import translate_errors

SAMPLE_ROWS = 20_000
"""Rows that are looked at; of a table with no more, the numbers are exact."""


def estimate_distinct(dataset: Any, columns: Sequence[str]) -> dict[str, int]:
    """Return how many values each of some columns is thought to have, NULL aside."""
    if not columns:
        return {}
    with translate_errors("estimating how many values columns have", reading=True):
        rows = int(dataset.count_rows())
        if rows <= SAMPLE_ROWS:
            found = dataset.to_table(columns=list(columns))
        else:
            places = np.linspace(0, rows - 1, SAMPLE_ROWS).astype(np.int64)
            found = dataset.take(places.tolist(), columns=list(columns))
    return {name: _estimate(found[name], rows) for name in columns}


def _estimate(values: pa.ChunkedArray, rows: int) -> int:
    """Return an estimate from a sample: what was seen once stands for more that was not seen."""
    if values.null_count == len(values):
        return 0
    counts = np.asarray(pc.value_counts(values.drop_null()).field("counts").to_numpy(zero_copy_only=False))
    once = int((counts == 1).sum())
    more = math.sqrt(rows / max(len(values), 1)) if rows > len(values) else 1.0
    return min(rows, round(len(counts) - once + more * once))
