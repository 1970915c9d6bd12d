"""Text search in memory: inverted index and BM25 scores. Words are those of the stored index's analyser."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.cancellation import checkpoint, chunks
from omnigraph.storage.indexes.analyser import tokens

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]

_K1, _B = 1.2, 0.75
_SPARSE_FACTOR = 16
"""Scores are summed in an array of all texts if at least one text in so many is found."""
_TEXTS_PER_CHECKPOINT = 1 << 14
"""Texts that are split into words between two checkpoints."""
_WORDS_PER_CHECKPOINT = 1 << 10
"""Words that are compared with others between two checkpoints."""
_ASCII_IN_WORDS = np.array(
    [ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)] * 2, dtype=np.uint8
)
"""For each ASCII character: itself in lower case if it can be in a word, else a space."""


@dataclass(frozen=True)
class Postings:
    """The words of some texts: for each word, the texts that contain it and how often."""

    words: dict[str, int]
    starts: Numbers
    texts: Numbers
    """The texts of word w are at starts[w] to starts[w + 1]."""
    counts: Numbers
    lengths: Numbers
    """The number of words in each text; -1 for NULL."""

    @staticmethod
    def of(values: pa.Array) -> Postings:
        """Split texts into words."""
        words: dict[str, int] = {}
        none = np.empty(0, dtype=np.int64)
        parts = [(none, none)]
        for some in chunks(len(values), _TEXTS_PER_CHECKPOINT):
            parts += [(found + some.start, terms) for found, terms in _words_of(values[some], words)]
        texts, terms = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        lengths = np.bincount(texts, minlength=len(values)).astype(np.int64)
        lengths[_array(pc.is_null(values))] = -1
        terms, texts = _by_term(terms, texts, len(words))
        first = np.flatnonzero(np.append(True, (np.diff(terms) != 0) | (np.diff(texts) != 0))[: len(terms)])
        counts = np.diff(np.append(first, len(terms)))
        starts = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.bincount(terms[first], minlength=len(words)), out=starts[1:])
        return Postings(words, starts, texts[first], counts, lengths)

    def occurrences(self, word: str) -> tuple[Numbers, Numbers]:
        """Return the texts that contain a word, and how often."""
        term = self.words.get(word)
        if term is None:
            return self.texts[:0], self.counts[:0]
        place = slice(self.starts[term], self.starts[term + 1])
        return self.texts[place], self.counts[place]

    @cached_property
    def nbytes(self) -> int:
        """How much memory the postings take, the words and their numbers included."""
        words = sys.getsizeof(self.words) + sum(map(sys.getsizeof, self.words)) + 32 * len(self.words)
        return words + self.starts.nbytes + self.texts.nbytes + self.counts.nbytes + self.lengths.nbytes


class TextIndex:
    """The postings of a column, run by run; deleted rows are left out."""

    def __init__(self, parts: list[Postings], live: Mask | None) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(part.lengths) for part in parts)])
        self._live = live

    @property
    def nbytes(self) -> int:
        """How much memory the index takes."""
        counted: list[Numbers] = self.__dict__.get("_frequencies", [])
        parts = sum(part.nbytes + part.lengths.nbytes for part in self._parts)
        return parts + sum(item.nbytes for item in counted)

    def contains_word(self, query: str, max_edits: int) -> Mask:
        """Return for each text whether it contains a word of the query, or one within `max_edits`."""
        found = np.zeros(len(self._lengths), dtype=bool)
        wanted = set(tokens(query))
        for start, part in zip(self._starts, self._parts, strict=False):
            for word in _find_near(wanted, part.words, max_edits) if max_edits else wanted:
                found[start + part.occurrences(word)[0]] = True
        return found if self._live is None else found & self._live

    def scores(self, query: str) -> tuple[Numbers, Scores]:
        """Return the sorted texts that contain a word of the query, and their BM25 scores."""
        places: list[Numbers] = [np.empty(0, dtype=np.int64)]
        weights: list[Scores] = [np.empty(0)]
        for word in dict.fromkeys(tokens(query)):
            checkpoint()
            texts, counts = self._occurrences(word)
            if len(texts):
                places.append(texts)
                weights.append(self._weights(texts, counts, len(texts)))
        if len(places) <= 2:
            return places[-1], weights[-1]
        together, each = np.concatenate(places), np.concatenate(weights)
        if len(together) * _SPARSE_FACTOR > len(self._lengths):
            scores = np.bincount(together, each, len(self._lengths)).astype(np.float64)
            texts = np.flatnonzero(scores)  # every word found has a positive weight
            return texts, scores[texts]
        texts, at = np.unique(together, return_inverse=True)
        return texts, np.bincount(at, each, len(texts)).astype(np.float64)

    def scores_of(self, texts: Numbers, queries: pa.Array) -> Scores:
        """Return the BM25 score of each text for its own query; NaN if it contains none of its words."""
        encoded = pc.dictionary_encode(queries)
        asked = [tuple(dict.fromkeys(tokens(query))) for query in encoded.dictionary.to_pylist()]
        words = [() if code is None else asked[code] for code in encoded.indices.to_pylist()]
        scores, is_found = np.zeros(len(texts)), np.zeros(len(texts), dtype=bool)
        for turn in range(max(map(len, words), default=0)):
            # The words of each query in its own order, so that sums are the same as for one query.
            places: dict[str, list[int]] = {}
            for place, some in enumerate(words):
                if turn < len(some):
                    places.setdefault(some[turn], []).append(place)
            for word, beside in places.items():
                checkpoint()
                counts = self._counts(word, texts[beside])
                held = np.array(beside)[counts > 0]
                if len(held):
                    weights = self._weights(texts[held], counts[counts > 0], self._frequency(word))
                    scores[held] += weights
                    is_found[held] = True
        return np.where(is_found, scores, np.nan)

    def _weights(self, texts: Numbers, counts: Numbers, frequency: int) -> Scores:
        """Return the scores of texts for a word with these counts, which `frequency` texts contain."""
        count, average = self._statistics
        rare = math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))
        norm = _K1 * (1 - _B + _B * self._lengths[texts] / average)
        weights: Scores = rare * counts * (_K1 + 1) / (counts + norm)
        return weights

    def _counts(self, word: str, texts: Numbers) -> Numbers:
        """Return how often some texts contain a word."""
        found = np.zeros(len(texts), dtype=np.int64)
        for start, part in zip(self._starts, self._parts, strict=False):
            holding, counts = part.occurrences(word)
            if len(holding):
                at = np.minimum(np.searchsorted(holding, texts - start), len(holding) - 1)
                found += np.where(holding[at] == texts - start, counts[at], 0)
        return found

    def _frequency(self, word: str) -> int:
        terms = (part.words.get(word) for part in self._parts)
        return sum(
            int(counted[term])
            for counted, term in zip(self._frequencies, terms, strict=True)
            if term is not None
        )

    @cached_property
    def _frequencies(self) -> list[Numbers]:
        """How many texts contain each word, part by part."""
        if self._live is None:
            return [np.diff(part.starts) for part in self._parts]
        found = []
        for start, part in zip(self._starts, self._parts, strict=False):
            before = np.append(0, np.cumsum(self._live[start + part.texts]))
            found.append(np.diff(before[part.starts]))
        return found

    @cached_property
    def _lengths(self) -> Numbers:
        return np.concatenate([part.lengths for part in self._parts] or [np.empty(0, dtype=np.int64)])

    @cached_property
    def _statistics(self) -> tuple[int, float]:
        """The number of texts, and their average number of words."""
        known = self._lengths >= 0
        if self._live is not None:
            known &= self._live
        count = int(known.sum())
        return count, int(self._lengths[known].sum()) / max(count, 1)

    def _occurrences(self, word: str) -> tuple[Numbers, Numbers]:
        found = [part.occurrences(word) for part in self._parts]
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        texts = np.concatenate([start + item[0] for start, item in zip(self._starts, found, strict=False)])
        counts = np.concatenate([item[1] for item in found])
        if self._live is not None:
            alive = self._live[texts]
            texts, counts = texts[alive], counts[alive]
        return texts, counts


def match_words(texts: pa.Array, queries: pa.Array, max_edits: int) -> list[bool | None]:
    """Return for each text whether it contains a word of its own query, or one within `max_edits`."""
    return [
        None
        if words is None or wanted is None
        else bool(_find_near(wanted, words, max_edits))
        if max_edits
        else not words.isdisjoint(wanted)
        for words, wanted in zip(_find_words(texts), _find_words(queries), strict=True)
    ]


def _find_words(values: pa.Array) -> list[set[str] | None]:
    """Return the words of each text; equal texts are split once."""
    encoded = pc.dictionary_encode(values)
    held = Postings.of(encoded.dictionary)
    bags: list[set[str]] = [set() for _ in range(len(held.lengths))]
    for word, term in held.words.items():
        for text in held.texts[held.starts[term] : held.starts[term + 1]].tolist():
            bags[text].add(word)
    return [None if place is None else bags[place] for place in encoded.indices.to_pylist()]


def _words_of(values: pa.Array, words: dict[str, int]) -> list[tuple[Numbers, Numbers]]:
    """Return pairs of text and word, for ASCII texts and for the others."""
    plain = pc.fill_null(pc.string_is_ascii(values), False)
    others = pc.and_(pc.is_valid(values), pc.invert(plain))
    return [
        _simple_words(values, np.flatnonzero(_array(plain)), words),
        _other_words(values, np.flatnonzero(_array(others)), words),
    ]


def _simple_words(values: pa.Array, places: Numbers, words: dict[str, int]) -> tuple[Numbers, Numbers]:
    """Split ASCII texts all at once; each distinct word is analysed once."""
    lists = pc.ascii_split_whitespace(_replace_marks(values.take(pa.array(places))))
    encoded = pc.dictionary_encode(lists.flatten())
    terms = np.array([_term(word, words) for word in encoded.dictionary.to_pylist()], dtype=np.int64)
    found = terms[_array(encoded.indices)] if len(terms) else np.empty(0, dtype=np.int64)
    texts = places[_array(pc.list_parent_indices(lists))]
    return texts[found >= 0], found[found >= 0]


def _replace_marks(texts: pa.Array) -> pa.Array:
    """Return ASCII texts in lower case, with spaces for characters that are not part of a word."""
    validity, offsets, data = texts.buffers()
    if data is None:
        return texts
    plain = pa.py_buffer(_ASCII_IN_WORDS[np.frombuffer(data, dtype=np.uint8)])
    return pa.Array.from_buffers(texts.type, len(texts), [validity, offsets, plain], offset=texts.offset)


def _by_term(terms: Numbers, texts: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Sort pairs by term and then by text; 16-bit terms are sorted by radix."""
    checkpoint()
    order = np.argsort(texts, kind="stable") if (np.diff(texts) < 0).any() else np.arange(len(texts))
    checkpoint()
    small = terms[order].astype(np.uint16 if count < 65536 else np.int64)
    order = order[np.argsort(small, kind="stable")]
    return terms[order], texts[order]


def _term(word: str, words: dict[str, int]) -> int:
    found = tokens(word)
    return words.setdefault(found[0], len(words)) if found else -1


def _other_words(values: pa.Array, places: Numbers, words: dict[str, int]) -> tuple[Numbers, Numbers]:
    texts: list[int] = []
    terms: list[int] = []
    for place, text in zip(places, values.take(pa.array(places)).to_pylist(), strict=True):
        checkpoint()
        found = tokens(text)
        texts += [int(place)] * len(found)
        terms += [words.setdefault(word, len(words)) for word in found]
    return np.array(texts, dtype=np.int64), np.array(terms, dtype=np.int64)


def _find_near(wanted: set[str], words: dict[str, int] | set[str], limit: int) -> set[str]:
    found = set()
    for number, word in enumerate(words):
        if number % _WORDS_PER_CHECKPOINT == 0:
            checkpoint()
        if any(_is_within(word, want, limit) for want in wanted):
            found.add(word)
    return found


def _is_within(left: str, right: str, limit: int) -> bool:
    """Return whether two words are within an edit distance."""
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
