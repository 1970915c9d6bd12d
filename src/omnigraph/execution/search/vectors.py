"""Vector search in memory: exact cosine distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Distances = npt.NDArray[np.float64]

_CLOSE = 1e-4
"""How far a distance in single precision may be from the true one, generously."""


class VectorColumn:
    """The vectors of a column as one matrix, with their lengths."""

    def __init__(self, values: pa.Array) -> None:
        self._width = values.type.list_size
        self._present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        if self._present.all():
            flat = np.asarray(values.flatten().to_numpy(zero_copy_only=False), dtype=np.float32)
            self._matrix = flat.reshape(-1, self._width)
        else:
            self._matrix = np.zeros((len(values), self._width), dtype=np.float32)
            flat = np.asarray(values.drop_null().flatten().to_numpy(zero_copy_only=False), dtype=np.float32)
            self._matrix[self._present] = flat.reshape(-1, self._width)
        self._norms = np.sqrt(np.einsum("ij,ij->i", self._matrix, self._matrix, dtype=np.float64))

    @property
    def nbytes(self) -> int:
        """How much memory the column takes."""
        return int(self._matrix.nbytes + self._norms.nbytes)

    def distances(self, rows: npt.NDArray[np.int64], query: tuple[float, ...]) -> Distances:
        """Return the distance of each row; NaN for NULL, 1 for the zero vector."""
        asked = np.array(query, dtype=np.float64)
        dots = self._matrix[rows].astype(np.float64) @ asked
        norms = self._norms[rows] * np.linalg.norm(asked)
        found = np.where(norms > 0, 1 - dots / np.where(norms > 0, norms, 1), 1.0)
        found[~self._present[rows]] = np.nan
        return found

    def nearest(
        self, rows: npt.NDArray[np.int64] | None, query: tuple[float, ...], count: int
    ) -> npt.NDArray[np.int64]:
        """Return the rows that can be among the nearest, a few too many: ties and rounding are kept."""
        asked = np.array(query, dtype=np.float32)
        matrix, norms, present = self._matrix, self._norms, self._present
        if rows is not None:
            matrix, norms, present = matrix[rows], norms[rows], present[rows]
        places = np.flatnonzero(present)
        lengths = norms * np.linalg.norm(asked)
        with np.errstate(divide="ignore", invalid="ignore"):
            rough = np.where(lengths > 0, 1 - (matrix @ asked) / lengths, 1.0)
        if len(places) > count:
            kth = np.partition(rough[places], count - 1)[count - 1] if count else -np.inf
            places = places[rough[places] <= kth + _CLOSE]
        return places if rows is None else rows[places]
