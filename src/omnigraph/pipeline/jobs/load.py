"""`SparkLoad`: a load as work for `commit`, read and written by Spark, checked and published here."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.base import clock
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import Catalog, NodeType, TableType
from omnigraph.execution.load.find_rejected import Rejected, reject_sets
from omnigraph.execution.load.keys.exact_check import images_of, judge
from omnigraph.execution.load.keys.key_screen import AnyKeys, KeyScreen, any_is_stored
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.keys.row_digest import CONTENT, NO_ROWS, Rows, unpacked
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.sources.source import Source, Split
from omnigraph.execution.load.stage.intake import key_columns
from omnigraph.execution.load.stage.sinks import without_rows
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.integrity.problems import SHOWN, Problem, Problems
from omnigraph.graph.write.integrity.stored import StoredRows
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.keys_in_spark import JoinedKeys
from omnigraph.pipeline.steps.replace import replace_stored
from omnigraph.pipeline.steps.run import cores_of, run_and_keep, run_reading
from omnigraph.pipeline.steps.split import first_places, split_source
from omnigraph.pipeline.workers.outcome import SplitOutcome, TableOutcome
from omnigraph.pipeline.workers.read import ReadTask
from omnigraph.storage.tables.staging import StagedFragments

_ALL = 10**9
_BYTES_PER_KEY = 32
"""Of a source, roughly: a line of 100 bytes has up to three keys."""


@dataclass(frozen=True)
class TableParts:
    """The records of one table of a load, split by split."""

    table: TableType
    parts: Sequence[TableOutcome]
    firsts: Sequence[int]
    """What the places of each part are counted from."""

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(part.rows for part in self.parts)

    @property
    def staged(self) -> StagedFragments:
        """The data files of all parts, in the order of the source."""
        return StagedFragments.joined(part.staged for part in self.parts)

    def with_places(self, keys: pa.Table) -> pa.Table:
        """Return key columns with what an intake keeps beside them."""
        places = [part.places.places() + first for part, first in zip(self.parts, self.firsts, strict=True)]
        given = [part.explicit_mask() for part in self.parts]
        placed = keys.append_column("_place", pa.chunked_array(places, pa.int64())).append_column(
            "_explicit", pa.chunked_array(given, pa.bool_())
        )
        said = [unpacked(part.contents) for part in self.parts if part.contents is not None]
        return placed.append_column(CONTENT, pa.chunked_array(said)) if said else placed


@dataclass(frozen=True)
class ExactKeys:
    """`Keyed`: the key columns of a table's records, read from where a task has put them."""

    table: TableType
    read: Callable[[], pa.Table]

    def keys(self) -> pa.Table:
        """Return the key columns with places, in the order of the source."""
        return self.read()


class SparkLoad:
    """Work for `commit`: Spark's tasks do what `LoadWork` does record by record, under the same rules."""

    operation = "load"
    commit_class = CommitClass.LOGICAL

    def __init__(
        self,
        spark: Any,
        settings: Settings,
        source: Source,
        mode: Mode,
        catalog_at: Callable[[str], Catalog],
        quarantine: Quarantine | None = None,
        vectors: MissingVectors | None = None,
    ) -> None:
        """Take a session and settings, and then what a load in process takes."""
        self._spark, self._settings = spark, settings
        self._source = source
        self._mode: Mode = mode
        self._catalog_at = catalog_at
        self._quarantine = quarantine
        self._vectors = vectors
        self.nodes: dict[str, int] = {}
        self.edges: dict[str, int] = {}

    @property
    def repeatable(self) -> bool:
        """An overwrite saw all rows of its tables; the others may be checked against a newer state."""
        return self._mode != "overwrite"

    def answer(self) -> Mapping[str, Any]:
        """Return how many records of each type were loaded."""
        return {"nodes": dict(self.nodes), "edges": dict(self.edges)}

    def stage(self, base: WriteBase) -> None:
        """Let the workers read and check every record and write the rows."""
        self._catalog = self._catalog_at(base.state.head.schema)
        stored = sum(entry.rows for entry in base.state.head.tables.values())
        self._key_count = stored + (self._source.size_bytes() or 0) // _BYTES_PER_KEY
        self._key = int.from_bytes(clock.current().random_bytes(8), "big")
        splits = split_source(self._source, cores_of(self._spark), self._settings.spark_split_bytes)
        task = ReadTask(self._catalog, splits, base.pinned(), self._key, SHOWN, self._vectors)
        if self._quarantine is None:
            self._take(splits, *self._run(task))
            return
        rejected, firsts = self._survey(base, task)
        skip: dict[int, set[int]] = {}
        for place in rejected:
            number = bisect_left(firsts, place) - 1
            skip.setdefault(number, set()).add(place - firsts[number])
        outcomes, keys = self._run(replace(task, skip={at: frozenset(some) for at, some in skip.items()}))
        with self._quarantine.opened(self._source.locate, rejected) as put_away:
            for outcome, first in zip(outcomes, firsts, strict=True):
                for place, record in outcome.skipped:
                    put_away(first + place, record)
        self._take(splits, outcomes, keys)
        if rejected:
            self._forget_empty_tables()

    def apply(self, base: WriteBase) -> None:
        """Check what the rows mean together with what is stored, and stage the tables."""
        tables = [parts.table for parts in self._tables.values()]
        images: Mapping[str, TableImage] = {}
        screen = KeyScreen(self._keys, self._catalog, self._mode, tables, base)
        if self._doubtful or not screen.passes():
            images = self._judge_exactly(base)
        for key in sorted(self._tables):
            image = images.get(key)
            if image is not None and image.doubles:
                self.nodes[image.table.name] = self._tables[key].rows - image.doubles
            self._stage_table(base, self._tables[key], image)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

    def _run(self, task: ReadTask) -> tuple[list[SplitOutcome], AnyKeys]:
        keys: AnyKeys
        if not task.splits and self._source.frame is None:
            return [], KeysInMemory({}, task.key)
        if self._key_count < self._settings.spark_driver_keys:
            outcomes, hashes = run_reading(self._spark, self._source, task)
            keys = KeysInMemory(hashes, task.key)
        else:
            outcomes, answers = run_and_keep(self._spark, self._source, task)
            keys = JoinedKeys(self._spark, answers, task.key)
            weakref.finalize(keys, answers.unpersist).atexit = False
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        return outcomes, keys

    def _take(self, splits: Sequence[Split], outcomes: list[SplitOutcome], keys: AnyKeys) -> None:
        firsts = first_places(splits, outcomes)
        problems = PlacedProblems()
        for outcome, first in zip(outcomes, firsts, strict=True):
            problems.add(self._placed(outcome, first))
            problems.count_more(outcome.total - len(outcome.problems))
        problems.raise_if_any()
        self._keys = keys
        self._doubtful = any(outcome.doubtful for outcome in outcomes)
        self._tables = self._by_table(outcomes, firsts)
        for parts in self._tables.values():
            counts = self.nodes if isinstance(parts.table, NodeType) else self.edges
            counts[parts.table.name] = parts.rows

    def _forget_empty_tables(self) -> None:
        """Leave alone a table whose records were all rejected; a split without rows has named it."""
        for key, parts in list(self._tables.items()):
            if not parts.rows:
                del self._tables[key]
                (self.nodes if isinstance(parts.table, NodeType) else self.edges).pop(parts.table.name)

    def _placed(self, outcome: SplitOutcome, first: int) -> Iterator[Problem]:
        for place, problem in outcome.problems:
            yield replace(problem, place=self._source.locate(first + place))

    def _by_table(self, outcomes: Sequence[SplitOutcome], firsts: Sequence[int]) -> dict[str, TableParts]:
        found: dict[str, TableParts] = {}
        for key in sorted({key for outcome in outcomes for key in outcome.tables}):
            table = self._catalog.table(key)
            assert table is not None
            here = [(item.tables[key], first) for item, first in zip(outcomes, firsts, strict=True)
                    if key in item.tables]  # fmt: skip
            found[key] = TableParts(table, [part for part, _ in here], [first for _, first in here])
        return found

    def _survey(self, base: WriteBase, task: ReadTask) -> tuple[Rejected, list[int]]:
        """Return the records that must be left out, and what the places of each split are counted from."""
        outcomes, _ = self._run(replace(task, namespace=None, limit=_ALL))
        firsts = first_places(task.splits, outcomes)
        rejected: Rejected = {}
        for outcome, first in zip(outcomes, firsts, strict=True):
            for place, problem in outcome.problems:
                named = replace(problem, place=self._source.locate(first + place))
                rejected.setdefault(first + place, []).append(named)
        keyed = {
            key: ExactKeys(parts.table, lambda parts=parts: parts.with_places(_sent_keys(parts)))  # type: ignore[misc]
            for key, parts in self._by_table(outcomes, firsts).items()
        }
        reject_sets(self._source.locate, self._catalog, self._mode, StoredRows(base), keyed, rejected)
        return rejected, firsts

    def _judge_exactly(self, base: WriteBase) -> Mapping[str, TableImage]:
        """Let the rules of a load in process look at the rows that are staged, and raise what they find."""
        keyed = {key: ExactKeys(parts.table, lambda parts=parts: _staged_keys(base, parts))  # type: ignore[misc]
                 for key, parts in self._tables.items()}  # fmt: skip
        images = images_of(keyed, self._mode, self._source.locate)
        problems = Problems()
        judge(self._catalog, images, StoredRows(base), problems)
        problems.raise_if_any()
        return images

    def _stage_table(self, base: WriteBase, parts: TableParts, image: TableImage | None) -> None:
        table, staged = base.table(parts.table.table_key), parts.staged
        dropped = image.dropped if image is not None else NO_ROWS
        if len(dropped):
            rows = _reader(base, parts, dropped)
            if self._mode == "merge":
                table.merge(rows)
            elif self._mode == "append":
                table.append(table.write_rows(rows))
            else:
                table.overwrite(table.write_rows(rows))
        elif self._mode == "overwrite":
            table.overwrite(staged)
        elif self._mode == "merge" and any_is_stored(self._keys, parts.table, base):
            if isinstance(self._keys, JoinedKeys):
                replace_stored(
                    self._spark, base, parts.table.table_key, [part.staged for part in parts.parts]
                )
            else:
                table.merge(_reader(base, parts, dropped))
        elif staged.rows:
            table.append(staged)


def _sent_keys(parts: TableParts) -> pa.Table:
    return pa.concat_tables([pa.ipc.open_stream(part.keys).read_all() for part in parts.parts])


def _staged_keys(base: WriteBase, parts: TableParts) -> pa.Table:
    draft = base.draft(parts.table.table_key, parts.staged)
    return parts.with_places(draft.columns(key_columns(parts.table)))


def _reader(base: WriteBase, parts: TableParts, dropped: Rows) -> pa.RecordBatchReader:
    schema = table_schema(parts.table)
    batches = base.draft(parts.table.table_key, parts.staged).batches(schema)
    return pa.RecordBatchReader.from_batches(schema, without_rows(batches, dropped))
