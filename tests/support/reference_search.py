"""Search for the reference evaluator: words of texts, edits between words, angles between vectors."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import snowballstemmer

_STOP_WORDS = {"a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
               "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
               "they", "this", "to", "was", "will", "with"}  # fmt: skip
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=10_000)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text: letters and digits, lower case, without stop words, stemmed."""
    words = [word.lower() for word in re.findall(r"[^\W_]+", text)]
    return tuple(_stemmer.stemWord(word) for word in words if word not in _STOP_WORDS)


def found(field: str, text: str, edits: int) -> bool:
    """Say whether a text holds a word within so many edits of a word of another."""
    return any(edit_distance(one, other) <= edits for one in tokens(field) for other in tokens(text))


@lru_cache(maxsize=100_000)
def edit_distance(one: str, other: str) -> int:
    """Return the least number of letters to add, remove or replace."""
    if not one or not other:
        return len(one) + len(other)
    replaced = edit_distance(one[1:], other[1:]) + (one[0] != other[0])
    return min(replaced, edit_distance(one[1:], other) + 1, edit_distance(one, other[1:]) + 1)


def cosine_distance(left: Any, right: Any) -> float | None:
    """Return one minus the cosine of two vectors."""
    if left is None or right is None:
        return None
    norm = math.hypot(*left) * math.hypot(*right)
    return 1 - math.fsum(a * b for a, b in zip(left, right, strict=True)) / norm if norm else 1.0
