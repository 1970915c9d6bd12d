"""Vector search in memory: exact cosine distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Distances = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

_CLOSE = 1e-4
"""How far a distance in single precision may be from the true one, generously."""


class Vectors:
    """A run of vectors as one matrix, with their lengths; NULL is a zero vector that is not present."""

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
        self.norms = np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64))

    def rough(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return distances in single precision, infinite where there is no vector."""
        lengths = self.norms * np.linalg.norm(query)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(lengths > 0, 1 - (self.matrix @ query) / lengths, 1.0)
        found[~self.present] = np.inf
        return found.astype(np.float32)


class VectorIndex:
    """The vectors of a column, run by run."""

    def __init__(self, parts: list[Vectors]) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(part.norms) for part in parts)])

    @property
    def nbytes(self) -> int:
        """How much memory the vectors take."""
        return sum(int(part.matrix.nbytes + part.norms.nbytes) for part in self._parts)

    def distances(self, rows: Rows, query: tuple[float, ...]) -> Distances:
        """Return the distance of each row; NaN for NULL, 1 for the zero vector."""
        asked = np.array(query, dtype=np.float64)
        length = float(np.linalg.norm(asked))
        found = np.full(len(rows), np.nan)
        for start, part in zip(self._starts, self._parts, strict=False):
            inside = np.flatnonzero((rows >= start) & (rows < start + len(part.norms)))
            local = rows[inside] - start
            inside, local = inside[part.present[local]], local[part.present[local]]
            norms = part.norms[local] * length
            dots = part.matrix[local].astype(np.float64) @ asked
            found[inside] = np.where(norms > 0, 1 - dots / np.where(norms > 0, norms, 1), 1.0)
        return found

    def nearest(self, rows: Rows, query: tuple[float, ...], count: int) -> Rows:
        """Return the rows that can be among the nearest, a few too many: ties and rounding are kept."""
        asked = np.array(query, dtype=np.float32)
        rough = np.concatenate([part.rough(asked) for part in self._parts])[rows]
        places = np.flatnonzero(np.isfinite(rough))
        if count < len(places):
            kth = np.partition(rough[places], count - 1)[count - 1] if count else -np.inf
            places = places[rough[places] <= kth + _CLOSE]
        return rows[places]
