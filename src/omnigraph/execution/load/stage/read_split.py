"""The task of a load, wherever it runs: read a split, check each record by itself, send rows to sinks.

Blocks are read by the fast path if they are valid beyond doubt, else record by record.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from omnigraph.base.cancellation import checkpoint
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.keys.key_spool import KeyBudget
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.parse.strict_json import BadRecord, RecordReader, Row, parse_line
from omnigraph.execution.load.progress import watched_progress
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.load.stage.intake import Sink, TableIntake, find_nothing_pending
from omnigraph.execution.load.stage.parallel_blocks import Read, read_ahead
from omnigraph.execution.load.stage.patches import ROWS_PER_LOOKUP, PatchedTables
from omnigraph.execution.load.stage.sinks import RowSink
from omnigraph.execution.missing_vectors import MissingVectors

Skipped = Callable[[int, bytes | Mapping[str, Any]], None]


def ignore(_: int, __: bytes | Mapping[str, Any]) -> None:
    """Do nothing with a skipped record."""


class SplitTask:
    """One split, or a whole source, on its way through readers, rules and sinks."""

    def __init__(
        self,
        source: LoadSource,
        catalog: Catalog,
        sink_of: Callable[[TableType], RowSink] | None,
        vectors: MissingVectors | None,
        limit: int,
        budget: KeyBudget | None = None,
        patched: PatchedTables | None = None,
    ) -> None:
        """Take a source, the sinks of rows (None to only check them), and how many problems are reported.

        With `patched`, records give parts of rows, which are completed from there.
        """
        self._source, self._catalog, self._sink_of = source, catalog, sink_of
        self._vectors, self._budget = vectors, budget
        self._patched = patched
        self._patches: dict[str, list[tuple[int, Row]]] = {}
        self._reader = RecordReader(catalog)
        self.problems = PlacedProblems(limit)
        self.intakes: dict[str, TableIntake] = {}
        self.sinks: dict[str, RowSink] = {}
        self.stale: set[str] = set()
        """The vectors that patches have taken away, since they stood for other texts."""
        self.records = 0
        """The number of lines or rows read."""
        self.occurring: set[str] = set()
        """The keys of the types that occurred, in skipped records too, where the source names types."""

    def run(self, skip: frozenset[int] = frozenset(), skipped: Skipped = ignore) -> None:
        """Send every record to its table's intake; those at the places `skip` go to `skipped`."""
        places, progress = sorted(skip), watched_progress()
        for block, found in self._read_blocks():
            checkpoint()
            self.records += block.count
            if progress is not None:
                progress.rows += block.count
            if found is None or bisect_left(places, block.first) < bisect_left(places, block.last + 1):
                for place, record, types, bad in block.records():
                    self.occurring.update(types)
                    if place in skip:
                        skipped(place, record)
                    elif bad is not None:
                        self._refuse(place, bad)
                    else:
                        self._take(place, record)
                continue
            for part, at in found:
                self.occurring.add(part.table.table_key)
                self.intake(part.table).take_batch(part.rows, at, part.explicit)
        for key in list(self._patches):
            self._complete(key)
        for intake in self.intakes.values():
            intake.flush()

    def _read_blocks(self) -> Iterator[Read]:
        """Yield every block; of patches nothing is known before each record is read by itself."""
        blocks = self._source.blocks(self._catalog)
        return ((block, None) for block in blocks) if self._patched is not None else read_ahead(blocks)

    def intake(self, table: TableType) -> TableIntake:
        """Return the intake of a table."""
        found = self.intakes.get(table.table_key)
        if found is None:
            found = self.intakes[table.table_key] = TableIntake(
                table,
                self._write(table),
                self.problems.add,
                self._source.locate,
                self._vectors.find_pending if self._vectors else find_nothing_pending,
                self._budget,
                self._source.is_distinct(table.name),
            )
        return found

    def _take(self, place: int, record: bytes | Mapping[str, Any]) -> None:
        try:
            given = parse_line(record) if isinstance(record, bytes) else record
            row = self._reader.read(given, partial=self._patched is not None)
        except BadRecord as bad:
            self._refuse(place, bad)
            return
        if self._patched is None:
            self.intake(row.table).take(row.values, place, row.explicit)
            return
        waiting = self._patches.setdefault(row.table.table_key, [])
        waiting.append((place, row))
        if len(waiting) >= ROWS_PER_LOOKUP:
            self._complete(row.table.table_key)

    def _complete(self, key: str) -> None:
        """Send the waiting patches of a table to its intake, as whole rows."""
        patches, self._patches[key] = self._patches[key], []
        if not patches:
            return
        assert self._patched is not None
        table = patches[0][1].table
        for place, row in self._patched.complete(self._catalog, table, patches, self.stale):
            if isinstance(row, BadRecord):
                self._refuse(place, row)
            else:
                self.intake(table).take(row.values, place, row.explicit)

    def _refuse(self, place: int, bad: BadRecord) -> None:
        located = self._source.locate(place)
        self.problems.add(replace(problem, place=located) for problem in bad.problems)

    def _write(self, table: TableType) -> Sink:
        """Return what writes the rows of a table; after the first problem, it neither embeds nor writes."""
        if self._sink_of is None:
            return lambda rows: None
        sink = self.sinks[table.table_key] = self._sink_of(table)

        def write(rows: pa.Table) -> None:
            if not self.problems.total:
                for part in self._vectors.fill(table, rows) if self._vectors else (rows,):
                    sink(part)

        return write
