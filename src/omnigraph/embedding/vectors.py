"""The vectors that are stored and compared: finite, of the right dimension, of length one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from omnigraph.base.errors import InvalidEmbedding

Vector: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float32]]"
Matrix: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float32]]"


def list_vectors(found: Any, model: str) -> list[Any]:
    """Return a provider's answer as a list, or raise InvalidEmbedding."""
    try:
        return list(found)
    except TypeError:
        raise _unusable(model, f"{type(found).__name__} instead of a list of vectors") from None


def unit_vectors(found: Sequence[Any], count: int, dimension: int, model: str) -> Matrix:
    """Return a provider's vectors at length one, or raise InvalidEmbedding."""
    if len(found) != count:
        raise _unusable(model, f"{len(found)} vectors for {count} texts", count=count, found=len(found))
    for vector in found:
        size = len(vector) if hasattr(vector, "__len__") else 0
        if size != dimension:
            raise _unusable(
                model,
                f"a vector of {size} numbers, the property has dimension {dimension}",
                expected=dimension,
                actual=size,
            )
    try:
        numbers = np.asarray(found) if count else np.zeros((0, dimension))
    except ValueError:
        numbers = np.asarray(None)
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiu":
        raise _unusable(model, "a vector that holds something other than numbers")
    matrix = numbers.astype(np.float64)
    if not np.isfinite(matrix).all():
        raise _unusable(model, "a vector that is not finite (NaN or infinity)")
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    if (largest == 0).any():
        raise _unusable(model, "a vector of zeros")
    matrix /= largest  # so that squares of very large and very small numbers stay numbers
    unit: Matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _unusable(model: str, what: str, **facts: Any) -> InvalidEmbedding:
    return InvalidEmbedding(f"the embedding model {model!r} answered with {what}", model=model, **facts)
