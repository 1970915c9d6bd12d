"""`Embedder`: texts to vectors through one provider, in batches, with a cache."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from omnigraph.base import telemetry
from omnigraph.base.errors import (
    BadInput,
    EmbeddingError,
    EmbeddingModelMismatch,
    EmbeddingRefused,
    OmniError,
)
from omnigraph.base.handed.process_folders import working_folder
from omnigraph.base.handed.secrets import hand_over
from omnigraph.base.settings import Settings
from omnigraph.embedding.build import build_provider, not_configured
from omnigraph.embedding.cache import FolderCache, MemoryCache, cache_key
from omnigraph.embedding.config import CACHE_VARIABLE, KEY_MEMBER, EmbeddingConfig, mock_config
from omnigraph.embedding.provider import Provider
from omnigraph.embedding.vectors import Matrix, Vector, list_vectors, unit_vectors

EmbeddingChoice: TypeAlias = "EmbeddingConfig | Provider | str | None"
"""A configuration, a provider object, the name of a kind, or None for the environment variables."""

_SPLIT_STATUSES = frozenset({400, 413, 422})
_MAX_BATCH_CHARACTERS = 400_000
_SHOWN_CHARACTERS = 60


class Embedder:
    """Turns texts into vectors. The provider is built when the first text needs it, once."""

    def __init__(self, choice: EmbeddingChoice = None, settings: Settings | None = None) -> None:
        """Choose the provider; the environment is read when it is first needed."""
        if isinstance(choice, str):
            choice = EmbeddingConfig(choice)
        if not (choice is None or isinstance(choice, EmbeddingConfig | Provider)):
            raise BadInput(
                f"embedding is {type(choice).__name__}: give the name of a kind, an EmbeddingConfig, or an "
                "object with `model` and `embed(texts, dimension)`"
            )
        self._choice: EmbeddingConfig | Provider | None = choice
        self._settings = settings if settings is not None else Settings()
        self._memory = MemoryCache(self._settings.embedding_cache_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        choice = self._choice
        if isinstance(choice, EmbeddingConfig) and choice.api_key:
            # For other processes of this machine a file stands for a key that was given.
            choice = replace(choice, api_key=None, key_file=hand_over({KEY_MEMBER: choice.api_key}))
        return Embedder, (choice, self._settings)

    @property
    def is_configured(self) -> bool:
        """Whether there is a provider to ask."""
        chosen = self._chosen
        return chosen is not None and not (isinstance(chosen, EmbeddingConfig) and chosen.kind == "none")

    @property
    def model(self) -> str:
        """The exact name of the provider's model."""
        return self._provider.model

    def require_model(self, recorded: str | None, subject: str) -> None:
        """Refuse to mix models: vectors of two models cannot be compared."""
        if recorded is not None and recorded != self.model:
            raise EmbeddingModelMismatch(
                f"the vectors of {subject} are those of the model {recorded!r}, the configured one is "
                f"{self.model!r}: configure {recorded!r}, or give vectors",
                subject=subject,
                expected=recorded,
                actual=self.model,
            )

    def vectors(self, texts: Sequence[str], dimension: int) -> Matrix:
        """Return a vector of length one for each text; uncached ones are requested in batches."""
        keys = [self._key(text, dimension) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        known = self._look_up(list(wanted))
        asked = {key: text for key, text in wanted.items() if key not in known}
        for found in self._ask(list(asked.items()), dimension):
            known.update(found)
        telemetry.count("embedding.texts", len(asked))
        if not texts:
            return np.zeros((0, dimension), dtype=np.float32)
        return np.stack([known[key] for key in keys])

    @contextmanager
    def cache_on_disk(self, folder: str | os.PathLike[str] | None = None) -> Iterator[Embedder]:
        """Yield an embedder that caches all vectors in `folder`, the configured folder or a temporary one."""
        if folder is None and self._folder is not None:
            yield self
            return
        other = Embedder(self._choice, self._settings)
        with working_folder("vectors") as passing:
            kept = FolderCache(folder if folder is not None else passing)
            other.__dict__.update(_provider=self._provider, _memory=self._memory, _folder=kept)
            try:
                yield other
            finally:
                kept.close()

    @cached_property
    def _chosen(self) -> EmbeddingConfig | Provider | None:
        given = mock_config() or self._choice
        return given if given is not None else EmbeddingConfig.from_environment()

    @cached_property
    def _provider(self) -> Provider:
        chosen = self._chosen
        if chosen is None:
            raise not_configured()
        return build_provider(chosen, self._settings) if isinstance(chosen, EmbeddingConfig) else chosen

    @cached_property
    def _folder(self) -> FolderCache | None:
        given = self._chosen.cache if isinstance(self._chosen, EmbeddingConfig) else None
        folder = given or os.environ.get(CACHE_VARIABLE)
        return FolderCache(folder) if folder else None

    def _key(self, text: str, dimension: int) -> bytes:
        if not isinstance(text, str) or not text.strip():
            raise BadInput("a blank text has no vector: give a text with a word in it")
        provider = self._provider
        kind = getattr(provider, "kind", type(provider).__qualname__)
        try:
            return cache_key(kind, provider.model, dimension, text)
        except UnicodeEncodeError:
            raise BadInput("a text to embed holds half of a surrogate pair, not a character") from None

    def _look_up(self, keys: list[bytes]) -> dict[bytes, Vector]:
        known = self._memory.get(keys)
        if self._folder is not None and len(known) < len(keys):
            stored = self._folder.get([key for key in keys if key not in known])
            self._memory.put(stored)
            known.update(stored)
        return known

    def _ask(self, asked: list[tuple[bytes, str]], dimension: int) -> Iterator[dict[bytes, Vector]]:
        """Yield the vectors of each batch as it arrives; those that arrived before a failure stay cached."""
        batches = list(_batches(asked, max(1, self._settings.embedding_batch)))
        if len(batches) < 2:
            yield from (self._ask_batch(batch, dimension) for batch in batches)
            return
        with ThreadPoolExecutor(max(1, self._settings.embedding_requests_at_once)) as pool:
            waiting = [
                pool.submit(contextvars.copy_context().run, self._ask_batch, batch, dimension)
                for batch in batches
            ]
            try:
                for answer in waiting:
                    yield answer.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _ask_batch(self, batch: list[tuple[bytes, str]], dimension: int) -> dict[bytes, Vector]:
        texts = [text for _, text in batch]
        found = _split_on_refusal(lambda some: self._embed(some, dimension), texts)
        matrix = unit_vectors(found, len(texts), dimension, self._provider.model)
        vectors: dict[bytes, Vector] = {key: matrix[row] for row, (key, _) in enumerate(batch)}
        self._memory.put(vectors)
        if self._folder is not None:
            self._folder.put(vectors)
        return vectors

    def _embed(self, texts: Sequence[str], dimension: int) -> list[Any]:
        """Ask the provider; turn what a caller's own provider raises into an EmbeddingError."""
        try:
            found = self._provider.embed(texts, dimension)
        except OmniError:
            raise
        except Exception as error:
            model, told = self._provider.model, f"{type(error).__name__}: {error}"
            raise EmbeddingError(f"the embedding model {model!r} failed: {told}", model=model) from error
        return list_vectors(found, self._provider.model)


def _batches(asked: list[tuple[bytes, str]], size: int) -> Iterator[list[tuple[bytes, str]]]:
    """Cut texts into batches that are limited in number and in characters."""
    batch: list[tuple[bytes, str]] = []
    length = 0
    for item in asked:
        if batch and (len(batch) == size or length + len(item[1]) > _MAX_BATCH_CHARACTERS):
            yield batch
            batch, length = [], 0
        batch.append(item)
        length += len(item[1])
    if batch:
        yield batch


def _split_on_refusal(embed: Callable[[Sequence[str]], list[Any]], texts: Sequence[str]) -> list[Any]:
    """Embed texts; a batch that is refused for its content is halved until the text is found."""
    try:
        return embed(texts)
    except EmbeddingRefused as error:
        if error.details.get("status") not in _SPLIT_STATUSES:
            raise
        if len(texts) == 1:
            shown = texts[0] if len(texts[0]) <= _SHOWN_CHARACTERS else texts[0][:_SHOWN_CHARACTERS] + "…"
            raise EmbeddingRefused(
                f"{error.message}; the text has {len(texts[0])} characters: {shown!r}", **error.details
            ) from None
    middle = len(texts) // 2
    return [*_split_on_refusal(embed, texts[:middle]), *_split_on_refusal(embed, texts[middle:])]
