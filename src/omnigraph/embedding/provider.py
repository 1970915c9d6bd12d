"""What turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Provider(Protocol):
    """Turns texts into vectors. An object of your own with these two members is one as well.

    `embed` gives one vector of exactly `dimension` finite numbers for each text, in the texts' order, and
    not all of them zero; their length does not matter, they are normalised afterwards. Equal texts should
    give equal vectors. It is called from several threads at once, with at most
    OMNIGRAPH_EMBEDDING_BATCH texts, none of them blank. What it raises reaches the caller
    as the cause of an EmbeddingError; errors of this package as they are.
    """

    @property
    def model(self) -> str:
        """The exact name of the model, which a schema may record with its vectors."""

    def embed(self, texts: Sequence[str], dimension: int) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
