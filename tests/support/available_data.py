"""Available data for plans that are made without a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.execution.plan.access import AvailableData

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FixedAvailableData(AvailableData):
    """Fixed available data: nothing unless it is named."""

    columns: frozenset[str] = _NONE
    """As `node:Person.name`."""
    words: frozenset[str] = _NONE
    often: frozenset[str] = _NONE
    worth_reading: frozenset[str] = _NONE
    adjacency: frozenset[str] = _NONE
    exact: Mapping[str, frozenset[str]] = field(default_factory=dict)
    texts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    vectors: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has_column(self, table: str, column: str) -> bool:
        """Look among the columns."""
        return f"{table}.{column}" in self.columns

    def has_words(self, table: str, column: str) -> bool:
        """Look among the columns whose words are known."""
        return f"{table}.{column}" in self.words

    def is_often_asked(self, table: str, column: str) -> bool:
        """Look among the columns that are asked often."""
        return f"{table}.{column}" in self.often

    def is_worth_reading(self, table: str) -> bool:
        """Look among the tables."""
        return table in self.worth_reading

    def has_adjacency(self, edge: str) -> bool:
        """Look among the edge types."""
        return edge in self.adjacency

    def exact_indexes(self, table: str) -> frozenset[str]:
        """Return what is said."""
        return self.exact.get(table, _NONE)

    def text_indexes(self, table: str) -> frozenset[str]:
        """Return what is said."""
        return self.texts.get(table, _NONE)

    def vector_indexes(self, table: str) -> frozenset[str]:
        """Return what is said."""
        return self.vectors.get(table, _NONE)
