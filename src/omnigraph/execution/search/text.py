"""Text search in memory: which texts hold which words, and their BM25 scores. Words are the index's own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.analyser import tokens

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]

_K1, _B = 1.2, 0.75
_BETWEEN_WORDS = "[^0-9A-Za-z]+"


@dataclass(frozen=True)
class Postings:
    """The words of some texts: for each word, the texts that hold it and how often."""

    words: dict[str, int]
    starts: Numbers
    texts: Numbers
    """The texts of word w stand at starts[w] to starts[w + 1]."""
    counts: Numbers
    lengths: Numbers
    """The number of words in each text; -1 for NULL."""

    @staticmethod
    def of(values: pa.Array) -> Postings:
        """Take texts apart."""
        words: dict[str, int] = {}
        plain = pc.fill_null(pc.string_is_ascii(values), False)
        parts = [
            _simple_words(values, np.flatnonzero(_array(plain)), words),
            _other_words(
                values, np.flatnonzero(_array(pc.and_(pc.is_valid(values), pc.invert(plain)))), words
            ),
        ]
        texts, terms = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        lengths = np.bincount(texts, minlength=len(values)).astype(np.int64)
        lengths[_array(pc.is_null(values))] = -1
        width = max(len(values), 1)
        pairs, counts = np.unique(terms * width + texts, return_counts=True)
        starts = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.bincount(pairs // width, minlength=len(words)), out=starts[1:])
        return Postings(words, starts, pairs % width, counts.astype(np.int64), lengths)

    def holding(self, word: str) -> tuple[Numbers, Numbers]:
        """Return the texts that hold a word, and how often each does."""
        term = self.words.get(word)
        if term is None:
            return self.texts[:0], self.counts[:0]
        place = slice(self.starts[term], self.starts[term + 1])
        return self.texts[place], self.counts[place]

    @property
    def nbytes(self) -> int:
        """How much memory the postings take, words aside."""
        return self.starts.nbytes + self.texts.nbytes + self.counts.nbytes + self.lengths.nbytes


class TextIndex:
    """The postings of a column, run by run, without the texts of deleted rows."""

    def __init__(self, parts: list[Postings], live: Mask | None) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(part.lengths) for part in parts)])
        self._live = live

    @property
    def nbytes(self) -> int:
        """How much memory the index takes."""
        return sum(part.nbytes for part in self._parts)

    def matching(self, query: str, max_edits: int) -> Mask:
        """Say of each text whether it holds a word of the query, or one within so many edits."""
        found = np.zeros(len(self._lengths), dtype=bool)
        wanted = set(tokens(query))
        for start, part in zip(self._starts, self._parts, strict=False):
            for word in _near(wanted, part.words, max_edits) if max_edits else wanted:
                found[start + part.holding(word)[0]] = True
        return found if self._live is None else found & self._live

    def scores(self, query: str) -> Scores:
        """Return the BM25 score of each text over the statistics of all; NaN where nothing matches."""
        scores = np.full(len(self._lengths), np.nan)
        known = self._known
        if not known.any():
            return scores
        average = self._lengths[known].sum() / known.sum()
        total = np.zeros(len(scores))
        hit = np.zeros(len(scores), dtype=bool)
        for word in dict.fromkeys(tokens(query)):
            texts, counts = self._holding(word)
            if len(texts) == 0:
                continue
            rare = math.log(1 + (int(known.sum()) - len(texts) + 0.5) / (len(texts) + 0.5))
            norm = _K1 * (1 - _B + _B * self._lengths[texts] / average)
            total[texts] += rare * counts * (_K1 + 1) / (counts + norm)
            hit[texts] = True
        scores[hit] = total[hit]
        return scores

    @cached_property
    def _lengths(self) -> Numbers:
        return np.concatenate([part.lengths for part in self._parts] or [np.empty(0, dtype=np.int64)])

    @cached_property
    def _known(self) -> Mask:
        known = self._lengths >= 0
        return known if self._live is None else known & self._live

    def _holding(self, word: str) -> tuple[Numbers, Numbers]:
        found = [part.holding(word) for part in self._parts]
        texts = np.concatenate([start + item[0] for start, item in zip(self._starts, found, strict=False)])
        counts = np.concatenate([item[1] for item in found])
        if self._live is not None:
            alive = self._live[texts]
            texts, counts = texts[alive], counts[alive]
        return texts, counts


def holds_words(text: str, query: str, max_edits: int) -> bool:
    """Say whether a text holds a word of a query, or one within so many edits."""
    words, wanted = set(tokens(text)), set(tokens(query))
    return bool(_near(wanted, words, max_edits)) if max_edits else not words.isdisjoint(wanted)


def _simple_words(values: pa.Array, places: Numbers, words: dict[str, int]) -> tuple[Numbers, Numbers]:
    """Take ASCII texts apart all at once: a word becomes what the analyser makes of it alone."""
    lists = pc.split_pattern_regex(pc.ascii_lower(values.take(pa.array(places))), pattern=_BETWEEN_WORDS)
    encoded = pc.dictionary_encode(lists.flatten())
    terms = np.array([_term(word, words) for word in encoded.dictionary.to_pylist()], dtype=np.int64)
    found = terms[_array(encoded.indices)] if len(terms) else np.empty(0, dtype=np.int64)
    texts = places[_array(pc.list_parent_indices(lists))]
    return texts[found >= 0], found[found >= 0]


def _term(word: str, words: dict[str, int]) -> int:
    found = tokens(word)
    return words.setdefault(found[0], len(words)) if found else -1


def _other_words(values: pa.Array, places: Numbers, words: dict[str, int]) -> tuple[Numbers, Numbers]:
    texts: list[int] = []
    terms: list[int] = []
    for place, text in zip(places, values.take(pa.array(places)).to_pylist(), strict=True):
        found = tokens(text)
        texts += [int(place)] * len(found)
        terms += [words.setdefault(word, len(words)) for word in found]
    return np.array(texts, dtype=np.int64), np.array(terms, dtype=np.int64)


def _near(wanted: set[str], words: dict[str, int] | set[str], limit: int) -> set[str]:
    return {word for word in words if any(_within(word, want, limit) for want in wanted)}


def _within(left: str, right: str, limit: int) -> bool:
    """Say whether two words are within an edit distance."""
    if abs(len(left) - len(right)) > limit:
        return False
    row = list(range(len(right) + 1))
    for number, letter in enumerate(left, 1):
        above, row[0] = row[0], number
        for place, other in enumerate(right, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (letter != other))
        if min(row) > limit:
            return False
    return row[-1] <= limit


def _array(values: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(values.to_numpy(zero_copy_only=False))
