"""Providers that speak OpenAI's form of embedding requests; most hosts and local servers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.base.errors import InvalidEmbedding
from omnigraph.embedding.endpoint import Endpoint


class OpenAIProvider:
    """Posts texts to `<base>/embeddings`."""

    def __init__(self, kind: str, model: str, endpoint: Endpoint, send_dimension: bool) -> None:
        """Use a model at an endpoint; `send_dimension` says whether requests carry the dimension."""
        self.kind = kind
        self.model = model
        self._endpoint = endpoint
        self._send_dimension = send_dimension

    def embed(self, texts: Sequence[str], dimension: int) -> list[Any]:
        """Return a vector for each text."""
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._send_dimension:
            body["dimensions"] = dimension
        answer = self._endpoint.post("/embeddings", body)
        try:
            by_index = {item["index"]: item["embedding"] for item in answer["data"]}
            return [by_index[place] for place in range(len(texts))]
        except (KeyError, TypeError, AttributeError):
            raise InvalidEmbedding(
                f"the embedding provider at {self._endpoint.base_url} gave no vector for some of the texts",
                model=self.model,
            ) from None
