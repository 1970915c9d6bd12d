"""Vectors without a model, for tests and demonstrations: the same on every machine, no network."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

_WORD = re.compile(r"\w+")
_DIMENSIONS_PER_NAME = 8
_TRIGRAM_WEIGHT = 0.25
_OWN_WEIGHT = 0.001


class MockProvider:
    """Hashes words and their trigrams: equal texts are equal, texts with words in common are close."""

    kind = "mock"

    def __init__(self, model: str) -> None:
        self.model = model

    def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
        """Return a vector for each text."""
        return [_vector(text, dimension) for text in texts]


def _vector(text: str, dimension: int) -> list[float]:
    # A part from the whole text keeps a vector from being zero, and texts of equal words apart.
    own = np.frombuffer(hashlib.shake_256(text.encode()).digest(4 * dimension), dtype="<u4")
    vector = _OWN_WEIGHT * (own / 2**31 - 1)
    words = _WORD.findall(text.casefold())
    if words:
        hashed = np.concatenate([_hash_word(word) for word in words])
        signs = np.where(hashed["place"] >> 31, 1.0, -1.0)
        np.add.at(vector, (hashed["place"] & 0x7FFFFFFF) % dimension, signs * hashed["weight"])
    found: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return found


@lru_cache(maxsize=10_000)
def _hash_word(word: str) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Return the dimensions that a word and its trigrams add to, and their weights."""
    padded = f"<{word}>"
    names = [word, *(f"3{padded[start : start + 3]}" for start in range(len(padded) - 2))]
    digests = b"".join(
        hashlib.blake2b(name.encode(), digest_size=4 * _DIMENSIONS_PER_NAME).digest() for name in names
    )
    found = np.zeros(_DIMENSIONS_PER_NAME * len(names), dtype=[("place", "<u4"), ("weight", "<f8")])
    found["place"] = np.frombuffer(digests, dtype="<u4")
    found["weight"][:_DIMENSIONS_PER_NAME] = 1
    found["weight"][_DIMENSIONS_PER_NAME:] = _TRIGRAM_WEIGHT
    return found
