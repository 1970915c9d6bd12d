"""Models that run in this process, through the package sentence-transformers when it is installed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from omnigraph.base.errors import EmbeddingNotConfigured


class SentenceTransformersProvider:
    """Runs a local model; it is loaded with the first text, and one thread at a time uses it."""

    kind = "sentence-transformers"

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._loaded: Any = None

    def embed(self, texts: Sequence[str], dimension: int) -> list[Any]:
        """Return a vector for each text."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self.model)
            return list(self._loaded.encode(list(texts), show_progress_bar=False))


def _load(model: str) -> Any:
    try:
        package = import_module("sentence_transformers")
    except ImportError as error:
        raise EmbeddingNotConfigured(
            "the embedding provider sentence-transformers needs a package that cannot be imported: run "
            f"`pip install sentence-transformers`, or choose another provider ({error})",
            package="sentence-transformers",
        ) from error
    try:
        return package.SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise EmbeddingNotConfigured(
            f"the local embedding model {model!r} cannot be loaded: {error}", model=model
        ) from error
