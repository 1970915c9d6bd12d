"""Vectors without a model, for tests and demonstrations: the same on every machine, no network."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

_WORD = re.compile(r"\w+")
_PLACES = 8
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
    features: dict[str, float] = defaultdict(float)
    for word in _WORD.findall(text.casefold()):
        features[word] += 1
        padded = f"<{word}>"
        for start in range(len(padded) - 2):
            features[f"3{padded[start : start + 3]}"] += _TRIGRAM_WEIGHT
    # What is the text's own keeps a vector from being zero, and texts of equal words apart.
    own = np.frombuffer(hashlib.shake_256(text.encode()).digest(4 * dimension), dtype="<u4")
    vector = _OWN_WEIGHT * (own / 2**31 - 1)
    if features:
        digests = b"".join(
            hashlib.blake2b(name.encode(), digest_size=4 * _PLACES).digest() for name in features
        )
        hashed = np.frombuffer(digests, dtype="<u4")
        signs = np.where(hashed >> 31, 1.0, -1.0)
        weights = np.repeat(np.fromiter(features.values(), dtype=np.float64), _PLACES)
        np.add.at(vector, (hashed & 0x7FFFFFFF) % dimension, signs * weights)
    found: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return found
