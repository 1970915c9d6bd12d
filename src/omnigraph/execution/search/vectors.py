"""Exact vector search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import BadInput


def cosine_distances(vectors: pa.Array, queries: list[Any]) -> pa.Array:
    """Return one minus the cosine of each vector and its query; null where either is, 1 for a zero vector."""
    rows = len(vectors)
    if rows in (0, vectors.null_count):
        return pa.nulls(rows, pa.float64())
    if any(isinstance(query, str) for query in queries):
        raise BadInput("a text reached the search without its vector")
    width = vectors.type.list_size
    asked = np.array([query if query is not None else [0.0] * width for query in queries], dtype=np.float64)
    present = np.asarray(vectors.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    stored = np.zeros((rows, width))
    stored[present] = np.asarray(vectors.flatten().to_numpy(zero_copy_only=False)).reshape(-1, width)
    norms = np.linalg.norm(stored, axis=1) * np.linalg.norm(asked, axis=1)
    dots = np.einsum("ij,ij->i", stored, asked)
    distances = np.where(norms > 0, 1 - dots / np.where(norms > 0, norms, 1), 1.0)
    known = present & np.array([query is not None for query in queries])
    return pa.array(distances, pa.float64(), mask=~known)
