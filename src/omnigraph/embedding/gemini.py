"""Google's Gemini embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from omnigraph.base.errors import InvalidEmbedding
from omnigraph.embedding.endpoint import Endpoint


class GeminiProvider:
    """Posts texts to `<base>/models/<model>:batchEmbedContents`."""

    kind = "gemini"

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self._endpoint = endpoint

    def embed(self, texts: Sequence[str], dimension: int) -> list[Any]:
        """Return a vector for each text."""
        name = self.model.removeprefix("models/")
        requests = [
            {
                "model": f"models/{name}",
                "content": {"parts": [{"text": text}]},
                "outputDimensionality": dimension,
            }
            for text in texts
        ]
        answer = self._endpoint.post(f"/models/{quote(name)}:batchEmbedContents", {"requests": requests})
        try:
            return [item["values"] for item in answer["embeddings"]]
        except (KeyError, TypeError):
            raise InvalidEmbedding(
                f"the embedding provider at {self._endpoint.base_url} gave no vector for some of the texts",
                model=self.model,
            ) from None
