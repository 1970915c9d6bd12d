"""Access paths to rows and routes along edges, and the available data that the choice depends on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

LARGE_TABLE_ROWS = 100_000
"""A table with fewer rows is read as a whole: that takes milliseconds, and later queries are faster."""
MANY_ROWS = 1_000_000
"""So many edges, or ids of nodes, are not read for a few of them, even without an index: storage filters."""
MAX_LOOKUPS = 256
"""The most values looked up through an index at once, and rows read one by one."""
MAX_SEARCHED_PAIRS = 64
"""The most pairs of nodes between which paths are searched from both ends, pair by pair."""


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
