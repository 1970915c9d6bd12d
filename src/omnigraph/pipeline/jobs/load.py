"""`SparkExecutor`: runs the tasks of a load on Spark; their outcomes are checked and published here."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.base import clock
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource
from omnigraph.execution.load.keys.key_screen import AnyKeys
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.keys.row_digest import CONTENT_COLUMN, Rows, unpack_digests
from omnigraph.execution.load.progress import watched_progress
from omnigraph.execution.load.sources.arrow_columns import table_of
from omnigraph.execution.load.sources.source import Split
from omnigraph.execution.load.stage.intake import key_columns
from omnigraph.execution.load.stage.patches import PatchedTables
from omnigraph.execution.load.stage.read_split import ignore
from omnigraph.execution.load.stage.sinks import without_rows
from omnigraph.execution.spark.remote import is_remote
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.group_files import group_small_files
from omnigraph.pipeline.steps.keys_in_spark import JoinedKeys
from omnigraph.pipeline.steps.replace import replace_stored
from omnigraph.pipeline.steps.run import cores_of, run_and_keep, run_reading
from omnigraph.pipeline.steps.split import first_places, split_source
from omnigraph.pipeline.workers.outcome import SplitOutcome, SplitTableOutcome
from omnigraph.pipeline.workers.read import ReadTask
from omnigraph.storage.tables.staging import StagedFragments

_BYTES_PER_KEY = 32
"""Bytes of a source per key, roughly: a line of 100 bytes has up to three keys."""


@dataclass(frozen=True)
class TableParts:
    """`ReadTable`: the records of one table of a load, split by split."""

    table: TableType
    parts: Sequence[SplitTableOutcome]
    firsts: Sequence[int]
    """The number of the first record of each part."""
    spark: Any = None
    """Merges the rows when their keys do not fit in the driver."""

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def rows_with_id(self) -> int:
        return sum(part.explicit_mask().true_count for part in self.parts)

    def collect_fragments(self, base: WriteBase) -> StagedFragments:
        """Return the data files; many small ones, of many small partitions, are joined to a few."""
        groups = group_small_files([part.staged for part in self.parts if part.staged.rows])
        return StagedFragments.join(self._join(base, group) for group in groups)

    def _join(self, base: WriteBase, group: Sequence[StagedFragments]) -> StagedFragments:
        if len(group) == 1:
            return group[0]
        schema = table_schema(self.table)
        batches = base.draft(self.table.table_key, StagedFragments.join(group)).batches(schema)
        rows = pa.RecordBatchReader.from_batches(schema, batches)
        return base.table(self.table.table_key).write_rows(rows)

    def keys(self, base: WriteBase) -> pa.Table:
        """Return the key columns that tasks have sent, or those of the staged rows, with record numbers."""
        names = key_columns(self.table)
        sent = [pa.ipc.open_stream(part.keys).read_all() for part in self.parts if part.keys is not None]
        if len(sent) == len(self.parts) > 0:
            keys = pa.concat_tables(sent)
        elif sent:  # parts with wrong records were not written
            keys = pa.concat_tables([self._keys_of_part(base, part, names) for part in self.parts])
        elif self.rows:
            keys = self._draft(base).columns(names)
        else:
            keys = table_schema(self.table).empty_table().select(names)
        places = [part.places.places() + first for part, first in zip(self.parts, self.firsts, strict=True)]
        given = [part.explicit_mask() for part in self.parts]
        placed = keys.append_column("_place", pa.chunked_array(places, pa.int64())).append_column(
            "_explicit", pa.chunked_array(given, pa.bool_())
        )
        said = [unpack_digests(part.contents) for part in self.parts if part.contents is not None]
        return placed.append_column(CONTENT_COLUMN, pa.chunked_array(said)) if said else placed

    def reader(self, base: WriteBase, dropped: Rows) -> pa.RecordBatchReader:
        schema = table_schema(self.table)
        batches = self._draft(base).batches(schema)
        return pa.RecordBatchReader.from_batches(schema, without_rows(batches, dropped))

    def merge(self, base: WriteBase, dropped: Rows) -> None:
        key = self.table.table_key
        if self.spark is not None and not len(dropped):
            replace_stored(self.spark, base, key, [part.staged for part in self.parts])
        else:
            base.table(key).merge(self.reader(base, dropped))

    def _keys_of_part(self, base: WriteBase, part: SplitTableOutcome, names: Sequence[str]) -> pa.Table:
        if part.keys is not None:
            return pa.ipc.open_stream(part.keys).read_all()
        return base.draft(self.table.table_key, part.staged).columns(names)

    def _draft(self, base: WriteBase) -> Any:
        staged = StagedFragments.join(part.staged for part in self.parts)
        return base.draft(self.table.table_key, staged)


class SparkExecutor(Executor):
    """Reads splits in Spark tasks; keys are sent to the driver, or stay in Spark if they are many."""

    def __init__(self, spark: Any, settings: Settings) -> None:
        self._spark, self._settings = spark, settings
        self._splits: list[Split] = []
        self._firsts: list[int] = []

    def read(self, order: ReadOrder, base: WriteBase) -> ReadSource:
        """Read and check every record and write the rows, in Spark's workers."""
        if order.skip is None:
            largest = self._settings.spark_split_bytes
            self._splits = split_source(order.source, cores_of(self._spark), largest)
        task = ReadTask(
            order.catalog,
            self._splits,
            base.view_pinned() if order.writes else None,
            int.from_bytes(clock.current().random_bytes(8), "big"),
            order.limit,
            vectors=order.vectors,
            skip=self._skip_by_split(order.skip or frozenset()),
            patched=PatchedTables(base.view_pinned()) if order.mode == "patch" else None,
            rows=self._count_rows(),
        )
        outcomes, keys = self._run(order, base, task)
        self._firsts = first_places(self._splits, outcomes)
        spark = self._spark if isinstance(keys, JoinedKeys) else None
        return collect(order, outcomes, self._firsts, keys, spark)

    def _count_rows(self) -> Any:
        """Return what counts the rows of tasks while they end, if somebody watches and Spark can."""
        progress = watched_progress()
        if progress is None or self._spark is None or is_remote(self._spark):
            return None
        counter = self._spark.sparkContext.accumulator(0)
        progress.rows_elsewhere = lambda: int(counter.value)
        return counter

    def _skip_by_split(self, places: frozenset[int]) -> dict[int, frozenset[int]]:
        skip: dict[int, set[int]] = {}
        for place in places:
            number = bisect_left(self._firsts, place) - 1
            skip.setdefault(number, set()).add(place - self._firsts[number])
        return {number: frozenset(some) for number, some in skip.items()}

    def _run(self, order: ReadOrder, base: WriteBase, task: ReadTask) -> tuple[list[SplitOutcome], AnyKeys]:
        if not task.splits and order.source.frame is None:
            return [], KeysInMemory({}, task.key)
        stored = sum(entry.rows for entry in base.state.head.tables.values())
        keys = stored + (order.source.size_bytes() or 0) // _BYTES_PER_KEY
        if keys < self._settings.spark_driver_keys:
            outcomes, hashes = run_reading(self._spark, order.source, task)
            return outcomes, KeysInMemory(hashes, task.key)
        outcomes, answers = run_and_keep(self._spark, order.source, task)
        joined = JoinedKeys(self._spark, answers, task.key)
        weakref.finalize(joined, answers.unpersist).atexit = False
        return outcomes, joined


def collect(
    order: ReadOrder, outcomes: Sequence[SplitOutcome], firsts: Sequence[int], keys: AnyKeys, spark: Any
) -> ReadSource:
    """Return the outcomes of all splits as one, or raise the error of one of them."""
    problems, found = PlacedProblems(order.limit), dict[str, TableParts]()
    locate, skipped = order.source.locate, order.skipped or ignore
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    for outcome, first in zip(outcomes, firsts, strict=True):
        problems.add(replace(problem, place=locate(first + at)) for at, problem in outcome.problems)
        problems.count_more(outcome.total - len(outcome.problems))
        for at, record in outcome.skipped:
            skipped(first + at, record)
    occurring = {key for outcome in outcomes for key in (*outcome.tables, *outcome.occurring)}
    named = {table_of(order.catalog, name).table_key for name in order.source.type_names()}
    for key in {key for outcome in outcomes for key in outcome.tables} | (named - occurring):
        table = order.catalog.table(key)
        assert table is not None
        parts = [(outcome.tables[key], first) for outcome, first in zip(outcomes, firsts, strict=True)
                 if key in outcome.tables]  # fmt: skip
        found[key] = TableParts(table, [part for part, _ in parts], [first for _, first in parts], spark)
    can_tell = order.writes and not any(outcome.doubtful for outcome in outcomes)
    cut = frozenset[str]().union(*(outcome.cut for outcome in outcomes))
    stale = frozenset[str]().union(*(outcome.stale for outcome in outcomes))
    return ReadSource(found, problems, keys if can_tell else None, cut=cut, stale=stale)
