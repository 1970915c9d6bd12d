"""A generated social graph: people with texts and vectors, skewed follows, and exact search among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

WIDTH = 64
WORDS = 5_000
LONGEST = 40
"""Words of the longest text."""


@dataclass(frozen=True)
class Social:
    """People and who follows whom: no self-loops, no parallel edges, so that every system counts the same."""

    people: pa.Table
    follows: pa.Table
    """Columns src and dst, the uids of the ends."""
    vectors: np.ndarray[Any, Any]
    words: np.ndarray[Any, Any]
    """The numbers of each text's words, -1 after its end."""

    @property
    def size(self) -> int:
        """The number of people."""
        return self.people.num_rows

    @cached_property
    def _lengths(self) -> np.ndarray[Any, Any]:
        return (self.words >= 0).sum(axis=1)

    @cached_property
    def _order(self) -> np.ndarray[Any, Any]:
        """The place of every person when ids (texts) are sorted, for ties."""
        places = np.empty(self.size, dtype=np.int64)
        places[np.argsort(np.array([str(uid) for uid in range(self.size)]))] = np.arange(self.size)
        return places

    def nearest(self, vector: np.ndarray[Any, Any], depth: int) -> list[int]:
        """Return the people whose vectors have the smallest cosine distance, every one compared."""
        return self._best(-(self.vectors @ (vector / np.linalg.norm(vector))), depth)

    def by_words(self, wanted: list[int], depth: int) -> list[int]:
        """Return the people whose texts have the best BM25 scores, every one scored."""
        lengths = self._lengths
        scores = np.zeros(self.size)
        norm = 1.2 * (1 - 0.75 + 0.75 * lengths / lengths.mean())
        for word in wanted:
            counts = (self.words == word).sum(axis=1)
            holding = int((counts > 0).sum())
            weight = math.log(1 + (self.size - holding + 0.5) / (holding + 0.5))
            scores += weight * counts * 2.2 / (counts + norm)
        return [uid for uid in self._best(-scores, depth) if scores[uid] > 0]

    def hybrid(self, vector: np.ndarray[Any, Any], wanted: list[int], depth: int) -> list[int]:
        """Return the best of both rankings, fused by reciprocal rank."""
        fused: dict[int, float] = {}
        for ranking in (self.nearest(vector, depth), self.by_words(wanted, depth)):
            for rank, uid in enumerate(ranking, 1):
                fused[uid] = fused.get(uid, 0.0) + 1 / (60 + rank)
        return sorted(fused, key=lambda uid: (-fused[uid], str(uid)))[:depth]

    def _best(self, cost: np.ndarray[Any, Any], depth: int) -> list[int]:
        some = np.argpartition(cost, min(4 * depth, self.size - 1))[: 4 * depth]
        return [int(uid) for uid in some[np.lexsort((self._order[some], cost[some]))][:depth]]


def text_of(words: list[int]) -> str:
    """Return words as a text; no word is a stop word or has an ending that a stemmer takes off."""
    return " ".join(f"w{word:04d}" for word in words)


def generate(size: int, degree: int = 6) -> Social:
    """Make a graph of so many people and `degree` times as many edges, the same one every time."""
    random = np.random.default_rng(7)
    words = np.minimum((WORDS * random.random((size, LONGEST)) ** 2).astype(np.int16), WORDS - 1)
    words[np.arange(LONGEST) >= random.integers(12, LONGEST + 1, size)[:, None]] = -1
    centres = random.normal(size=(max(1, size // 500), WIDTH))
    vectors = centres[random.integers(0, len(centres), size)] + 0.5 * random.normal(size=(size, WIDTH))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    flat = pa.array(vectors.reshape(-1))
    people = pa.table(
        {
            "uid": pa.array(np.arange(size)),
            "name": pa.array([f"person-{uid}" for uid in range(size)]),
            "age": pa.array(random.integers(18, 90, size).astype(np.int32)),
            "city": pa.array([f"city-{number:02d}" for number in random.integers(0, 64, size)]),
            "score": pa.array(random.random(size)),
            "bio": pa.array([text_of([int(word) for word in row if word >= 0]) for row in words]),
            "vec": pa.FixedSizeListArray.from_arrays(flat, type=pa.list_(pa.float32(), WIDTH)),
        }
    )
    follows = make_follows(random, size, degree * size)
    weights = np.random.default_rng(11).integers(1, 100, follows.num_rows)
    return Social(people, follows.append_column("weight", pa.array(weights)), vectors, words)


def make_follows(random: np.random.Generator, size: int, wanted: int) -> pa.Table:
    """Some follow many and some are followed by very many; who does is independent."""
    more = wanted + wanted // 4
    source = random.permutation(size)[(size * random.random(more) ** 1.5).astype(np.int64)]
    target = random.permutation(size)[(size * random.random(more) ** 3).astype(np.int64)]
    differ = source != target
    pairs = random.permutation(np.unique(source[differ] * size + target[differ]))[:wanted]
    return pa.table({"src": pairs // size, "dst": pairs % size})
