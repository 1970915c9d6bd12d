"""The ways to rows and to the far ends of edges, and what is at hand, on which the choice rests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

LARGE_TABLE_ROWS = 100_000
"""A table with fewer rows is read: that takes milliseconds, and every query after it is quicker."""
MAX_LOOKUPS = 256
"""Values that are looked for through an index at once, and rows that are read one by one."""
MAX_SEARCHED_PAIRS = 64
"""The paths between so many pairs of nodes are searched for from both ends, pair by pair."""


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


@dataclass(frozen=True, slots=True)
class AccessPath:
    """A way to the rows of a table, and why it was chosen."""

    access: Access
    by: tuple[int, ...] = ()
    """The filters that the path itself answers; the others apply to what it has found."""
    columns: tuple[str, ...] = ()
    """What is read of the rows that storage finds, beside them."""
    why: str = ""


UNCHOSEN = AccessPath(Access.MEMORY)


class AvailableData(Protocol):
    """What a reader has in memory and in storage. It never changes what a query gives, only how."""

    def has_column(self, table: str, column: str) -> bool:
        """Return whether a column is in memory."""

    def has_words(self, table: str, column: str) -> bool:
        """Return whether the words of a column's texts are in memory."""

    def is_often_asked(self, table: str, column: str) -> bool:
        """Return whether a column is searched for exact values often enough to make a hash table."""

    def is_worth_reading(self, table: str) -> bool:
        """Return whether a table was looked up in storage often enough to read whole columns instead."""

    def has_adjacency(self, edge: str) -> bool:
        """Return whether the adjacency of an edge type is in memory."""

    def exact_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table whose values have an index."""

    def text_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table whose words have an index."""

    def vector_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table whose vectors have an index."""
