"""Access paths to rows and routes along edges, and the available data that the choice depends on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

LARGE_TABLE_ROWS = 100_000
"""A table with fewer rows is read as a whole: that takes milliseconds, and later queries are faster."""
MANY_ROWS = 1_000_000
"""So many edges, or ids of nodes, are not read for a few of them, even without an index: storage filters."""
MAX_LOOKUPS = 256
"""The most values looked up through an index at once, and rows read one by one."""
MAX_SEARCHED_PAIRS = 64
"""The most pairs of nodes between which paths are searched from both ends, pair by pair."""
_Answer = TypeVar("_Answer")


class Access(Enum):
    """How rows are found."""

    ALL = "every row"
    MEMORY = "columns in memory"
    HASH = "hash table"
    INDEX = "index"
    PUSHED = "filtered by storage"
    WORDS = "text index"
    VECTORS = "vector index"


class Route(Enum):
    """How edges are followed."""

    ADJACENCY = "adjacency"
    LOOKUPS = "index look-ups"
    SCANS = "filtered by storage"


@dataclass(frozen=True, slots=True)
class AccessPath:
    """How the rows of a table are found, and why so."""

    access: Access
    by: tuple[int, ...] = ()
    """The filters that the path itself answers; the others are applied to the rows it finds."""
    columns: tuple[str, ...] = ()
    """The columns to read of the rows that storage finds."""
    why: str = ""


UNCHOSEN = AccessPath(Access.MEMORY)


class AvailableData(Protocol):
    """What a reader has in memory and in indexes. It changes how a query runs, never its result."""

    def has_column(self, table: str, column: str) -> bool:
        """Return whether a column is in memory."""

    def has_words(self, table: str, column: str) -> bool:
        """Return whether the inverted index of a column is in memory."""

    def is_often_asked(self, table: str, column: str) -> bool:
        """Return whether a column is searched for exact values often enough to make a hash table."""

    def is_worth_reading(self, table: str) -> bool:
        """Return whether a table was looked up in storage often enough to read whole columns instead."""

    def has_adjacency(self, edge: str) -> bool:
        """Return whether the adjacency of an edge type is in memory."""

    def exact_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with an index of exact values."""

    def text_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with a text index."""

    def vector_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with a vector index."""


class RecordedData(AvailableData):
    """Available data that remembers what it was asked: the same answers lead to the same choice."""

    def __init__(self, available: AvailableData) -> None:
        self._available: AvailableData | None = available
        self._answers: dict[tuple[str, ...], object] = {}

    def close(self) -> RecordedData:
        """Let go of the data; what was asked and answered stays."""
        self._available = None
        return self

    def is_same(self, available: AvailableData) -> bool:
        """Return whether other data would give the same answers."""
        return all(
            getattr(available, question)(*subject) == answer
            for (question, *subject), answer in self._answers.items()
        )

    def has_column(self, table: str, column: str) -> bool:
        """Return whether a column is in memory."""
        return self._ask(bool, "has_column", table, column)

    def has_words(self, table: str, column: str) -> bool:
        """Return whether the inverted index of a column is in memory."""
        return self._ask(bool, "has_words", table, column)

    def is_often_asked(self, table: str, column: str) -> bool:
        """Return whether a column is searched for exact values often enough to make a hash table."""
        return self._ask(bool, "is_often_asked", table, column)

    def is_worth_reading(self, table: str) -> bool:
        """Return whether a table was looked up in storage often enough to read whole columns instead."""
        return self._ask(bool, "is_worth_reading", table)

    def has_adjacency(self, edge: str) -> bool:
        """Return whether the adjacency of an edge type is in memory."""
        return self._ask(bool, "has_adjacency", edge)

    def exact_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with an index of exact values."""
        return self._ask(frozenset, "exact_indexes", table)

    def text_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with a text index."""
        return self._ask(frozenset, "text_indexes", table)

    def vector_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with a vector index."""
        return self._ask(frozenset, "vector_indexes", table)

    def _ask(self, kind: type[_Answer], *question: str) -> _Answer:
        answer = self._answers.get(question)
        if answer is None:
            answer = self._answers[question] = getattr(self._available, question[0])(*question[1:])
        assert isinstance(answer, kind)
        return answer
