"""Text search without an index: the same words count as with one (lower case, stems, no stop words)."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

import pyarrow as pa
import snowballstemmer

_WORD = re.compile(r"\w+")
_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
        "of",
        "on",
        "or",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "will",
        "with",
    ]
)
_K1, _B = 1.2, 0.75
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a text."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]
    return tuple(_stemmer.stemWords(words))


def match_text(texts: pa.Array, queries: list[str | None], max_edits: int) -> pa.Array:
    """Say for each text whether it holds a token of its query, or one within `max_edits`; null for null."""
    verdicts = [
        None if text is None or query is None else _holds(tokens(text), tokens(query), max_edits)
        for text, query in zip(texts.to_pylist(), queries, strict=True)
    ]
    return pa.array(verdicts, pa.bool_())


def score_text(texts: pa.Array, query: object) -> pa.Array:
    """Return the BM25 score of each text over the statistics of all; null where nothing matches."""
    if not isinstance(query, str):
        return pa.nulls(len(texts), pa.float64())
    documents = [None if text is None else Counter(tokens(text)) for text in texts.to_pylist()]
    known = [item for item in documents if item is not None]
    average = sum(sum(item.values()) for item in known) / len(known) if known else 0.0
    terms = {
        term: math.log(1 + (len(known) - count + 0.5) / (count + 0.5))
        for term in dict.fromkeys(tokens(query))
        if (count := sum(term in item for item in known))
    }
    return pa.array([_score(item, terms, average) for item in documents], pa.float64())


def _score(document: Counter[str] | None, terms: dict[str, float], average: float) -> float | None:
    if document is None or not any(term in document for term in terms):
        return None
    length = sum(document.values())
    norm = _K1 * (1 - _B + _B * length / average)
    return sum(
        weight * document[term] * (_K1 + 1) / (document[term] + norm)
        for term, weight in terms.items()
        if term in document
    )


def _holds(words: tuple[str, ...], wanted: tuple[str, ...], max_edits: int) -> bool:
    if max_edits == 0:
        return not set(words).isdisjoint(wanted)
    return any(_within(word, want, max_edits) for word in words for want in wanted)


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
