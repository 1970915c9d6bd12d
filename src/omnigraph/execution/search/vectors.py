"""Vector search in memory: exact cosine distances."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.base.cancellation import chunks

Distances = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Queries = tuple[float, ...] | npt.NDArray[np.float32]
"""One vector for all rows, or a matrix with one for each."""

_DISTANCE_TOLERANCE = 1e-4
"""An upper bound for the error of a distance in single precision."""
_BLOCK_ROWS = 64
_ROWS_PER_CHECKPOINT = 1 << 15
"""Vectors that are compared between two checkpoints."""


class Vectors:
    """A run of vectors as one matrix, with their norms; NULL is a zero vector that is not `present`."""

    def __init__(self, values: pa.Array) -> None:
        width = values.type.list_size
        self.present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        if self.present.all():
            flat = np.asarray(values.flatten().to_numpy(zero_copy_only=False), dtype=np.float32)
            self.matrix = flat.reshape(-1, width)
        else:
            self.matrix = np.zeros((len(values), width), dtype=np.float32)
            flat = np.asarray(values.drop_null().flatten().to_numpy(zero_copy_only=False), dtype=np.float32)
            self.matrix[self.present] = flat.reshape(-1, width)
        squares = np.empty(len(self.matrix))
        for part in chunks(len(squares), _ROWS_PER_CHECKPOINT):
            some = self.matrix[part]
            squares[part] = np.einsum("ij,ij->i", some, some, dtype=np.float64)
        self.norms = np.sqrt(squares)

    @property
    def nbytes(self) -> int:
        """How much memory the vectors and their unit vectors take."""
        return int(2 * self.matrix.nbytes + self.norms.nbytes + self.present.nbytes)

    @cached_property
    def _units(self) -> npt.NDArray[np.float32]:
        """The unit vectors; zero vectors stay zero."""
        lengths = np.where(self.norms > 0, self.norms, 1).astype(np.float32)
        units = np.empty_like(self.matrix)
        for part in chunks(len(units), _ROWS_PER_CHECKPOINT):
            np.divide(self.matrix[part], lengths[part, None], out=units[part])
        return units

    def rough(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return distances to a unit vector in single precision; infinite for NULL."""
        found = np.empty(len(self.norms), dtype=np.float32)
        for part in chunks(len(found), _ROWS_PER_CHECKPOINT):
            np.subtract(1, self._units[part] @ query, out=found[part])
        if not self.present.all():
            found[~self.present] = np.inf
        return found


class VectorIndex:
    """The vectors of a column, run by run."""

    def __init__(self, parts: list[Vectors]) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(part.norms) for part in parts)])

    @property
    def nbytes(self) -> int:
        """How much memory the vectors take."""
        return sum(part.nbytes for part in self._parts)

    def distances(self, rows: Rows, query: Queries) -> Distances:
        """Return the distance of each row to the query, or to its own; NaN for NULL, 1 for a zero vector."""
        asked = np.array(query, dtype=np.float64)
        lengths = np.broadcast_to(np.sqrt(np.vecdot(asked, asked)), len(rows))
        found = np.full(len(rows), np.nan)
        for start, part in zip(self._starts, self._parts, strict=False):
            inside = np.flatnonzero((rows >= start) & (rows < start + len(part.norms)))
            local = rows[inside] - start
            inside, local = inside[part.present[local]], local[part.present[local]]
            for some in chunks(len(local), _ROWS_PER_CHECKPOINT):
                places = inside[some]
                norms = part.norms[local[some]] * lengths[places]
                matrix = part.matrix[local[some]].astype(np.float64)
                # A matrix product may round equal rows differently, depending on their place.
                if asked.ndim == 1:
                    dots = np.einsum("ij,j->i", matrix, asked)
                else:
                    dots = np.einsum("ij,ij->i", matrix, asked[places])
                found[places] = np.where(norms > 0, 1 - dots / np.where(norms > 0, norms, 1), 1.0)
        return found

    def nearest(self, rows: Rows, query: tuple[float, ...], count: int) -> Rows:
        """Return a superset of the nearest rows, with ties and those within rounding."""
        asked = np.array(query, dtype=np.float64)
        unit = (asked / (np.linalg.norm(asked) or 1)).astype(np.float32)
        parts = [part.rough(unit) for part in self._parts] or [np.empty(0, dtype=np.float32)]
        rough = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if len(rows) != len(rough):
            rough = rough[rows]
        places = np.flatnonzero(rough <= _find_threshold(rough, count) + _DISTANCE_TOLERANCE)
        return rows[places[np.isfinite(rough[places])]]


def _find_threshold(rough: npt.NDArray[np.float32], count: int) -> float:
    """Return an upper bound, close to tight, for the `count`-th smallest distance."""
    whole = len(rough) // _BLOCK_ROWS
    if count == 0 or len(rough) == 0:
        return -np.inf
    if whole > 4 * count:
        # The minima of many blocks are a small sample that gives nearly the same bound.
        rough = rough[: whole * _BLOCK_ROWS].reshape(whole, _BLOCK_ROWS).min(axis=1)
    return float(np.partition(rough, count - 1)[count - 1]) if count < len(rough) else np.inf
