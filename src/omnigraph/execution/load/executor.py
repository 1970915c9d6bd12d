"""`Executor`: what reads a source for a load; the only difference between a load in process and on Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.keys.key_screen import AnyKeys
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.keys.row_digest import Rows
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.load.stage.read_split import Skipped
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.write.integrity.problems import SHOWN_PROBLEMS
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.tables.staging import StagedFragments


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """What an executor is to read, and for which purpose."""

    source: LoadSource
    catalog: Catalog
    mode: Mode
    vectors: MissingVectors | None = None
    writes: bool = True
    """Whether the rows are written; otherwise they are only checked."""
    limit: int = SHOWN_PROBLEMS
    """How many problems are reported; the rest are only counted."""
    skip: frozenset[int] | None = None
    """Places of records to leave out; None when the source is read for the first time."""
    skipped: Skipped | None = None
    """Gets the records that are left out."""


class ReadTable(Protocol):
    """The records of one table that were read."""

    @property
    def table(self) -> TableType:
        """Their type."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def rows_with_id(self) -> int:
        """How many of them gave their id; ids that keys make are not given."""

    def keys(self, base: WriteBase) -> pa.Table:
        """Return the key columns, the place, and whether the id was given, in the order of the source."""

    def collect_fragments(self, base: WriteBase) -> StagedFragments | None:
        """Return the data files that hold the rows; None if the rows are not in data files yet."""

    def reader(self, base: WriteBase, dropped: Rows) -> pa.RecordBatchReader:
        """Return all rows except those with the given numbers."""

    def merge(self, base: WriteBase, dropped: Rows) -> None:
        """Stage the rows, except those with the given numbers, as an upsert by id."""


@dataclass(frozen=True, slots=True)
class ReadSource:
    """All that was read of a source."""

    tables: Mapping[str, ReadTable]
    """By key; includes types that the source names and has no rows of, unless all were left out."""
    problems: PlacedProblems
    keys: AnyKeys | None
    """The compact keys; None when only the exact rules can decide."""
    wait: Callable[[], None] = lambda: None
    """Waits until no files are being written."""
    cut: Collection[str] = ()
    """The properties of which values had digits beyond milliseconds."""
    stale: Collection[str] = ()
    """The vectors that patches have taken away, since they stood for other texts."""


class Executor(Protocol):
    """Runs the task of a load over all splits of a source."""

    can_read_again: bool = True
    """Whether what was read can be thrown away and read once more."""

    def read(self, order: ReadOrder, base: WriteBase) -> ReadSource:
        """Read all records, check each by itself, and write the rows to files that no commit names."""

    def run(self, steps: Sequence[Callable[[], None]]) -> None:
        """Run the last step of each table."""
        for step in steps:
            step()
