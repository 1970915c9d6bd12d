"""Who runs the heavy work of optimizing a table: a `MaintenanceExecutor`; here it is this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from omnigraph.base.errors import OmniError
from omnigraph.graph.maintenance.optimize.wanted_indexes import WantedIndex
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.indexes.indexes import IndexChanges


class MaintenanceExecutor(Protocol):
    """Stages the work on one table, as it stands in an attempt, onto that attempt.

    What is to be done is decided elsewhere, in one way for all executors, and the result is the same. Several
    tables are worked on at once, each by one thread.
    """

    def count_vectors(self, base: WriteBase, key: str, column: str) -> int:
        """Return how many vectors of a column an index could be trained with."""

    def fold(self, base: WriteBase, key: str, names: Sequence[str]) -> IndexChanges:
        """Add the rows that some indexes do not know yet."""

    def compact(self, base: WriteBase, key: str, target_rows: int) -> tuple[int, int]:
        """Join fragments smaller than `target_rows`; return how many went and how many came instead."""

    def build(
        self, base: WriteBase, key: str, wanted: Sequence[WantedIndex]
    ) -> Iterator[IndexChanges | OmniError]:
        """Build indexes; yield for each what it changed, or why it could not be built."""


class LocalMaintenance:
    """The executor in this process."""

    def count_vectors(self, base: WriteBase, key: str, column: str) -> int:
        """Return how many vectors of a column an index could be trained with."""
        return base.table(key).count_vectors(column)

    def fold(self, base: WriteBase, key: str, names: Sequence[str]) -> IndexChanges:
        """Add the rows that some indexes do not know yet."""
        return base.table(key).fold_indexes(names)

    def compact(self, base: WriteBase, key: str, target_rows: int) -> tuple[int, int]:
        """Join fragments smaller than `target_rows`; return how many went and how many came instead."""
        return base.table(key).compact(target_rows)

    def build(
        self, base: WriteBase, key: str, wanted: Sequence[WantedIndex]
    ) -> Iterator[IndexChanges | OmniError]:
        """Build indexes one after the other."""
        for item in wanted:
            before = base.savepoint(key)
            try:
                built = base.table(key).build_index(item.column, item.kind)
            except OmniError as error:
                base.undo(key, before)
                yield error
            else:
                yield built
