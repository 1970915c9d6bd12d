"""`LoadWork`: a load as work for `commit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog, NodeType, TableType
from omnigraph.execution.load.find_rejected import survey
from omnigraph.execution.load.keys.exact_check import images_of, judge
from omnigraph.execution.load.keys.key_screen import KeyScreen, any_is_stored
from omnigraph.execution.load.keys.key_spool import KeyBudget, compact
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.keys.row_digest import NO_ROWS, Rows
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.sources.source import Source
from omnigraph.execution.load.stage.intake import Pending, TableIntake, nothing_pending
from omnigraph.execution.load.stage.read_source import Reading
from omnigraph.execution.load.stage.sinks import FragmentSink, SpoolSink
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import StoredRows
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.tables.staging import StagedFragments


class LoadWork:
    """Work for `commit`: the records of a source, read once, checked against every state it is applied to."""

    operation = "load"
    commit_class = CommitClass.LOGICAL

    def __init__(
        self,
        source: Source,
        mode: Mode,
        catalog_at: Callable[[str], Catalog],
        quarantine: Quarantine | None = None,
        vectors: MissingVectors | None = None,
    ) -> None:
        """Take a source, what to do with stored rows, where wrong records may go, and what embeds texts."""
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
        """Read and check every record, and write the rows."""
        self._sinks: dict[str, FragmentSink | SpoolSink] = {}
        with self._writing():
            self._read(base)

    def _read(self, base: WriteBase) -> None:
        self._catalog = self._catalog_at(base.state.head.schema)
        self._intakes: dict[str, TableIntake] = {}
        self._problems = PlacedProblems()
        self._budget = KeyBudget()
        reading = Reading(
            self._source, self._catalog, lambda table: self._intake(base, table), self._problems.add
        )
        if self._quarantine is None:
            reading.run()
        else:
            rejected = survey(self._source, self._catalog, self._mode, base, self._pending)
            with self._quarantine.opened(self._source.locate, rejected) as put_away:
                reading.run(frozenset(rejected), put_away)
        for intake in self._intakes.values():
            intake.flush()
        self._problems.raise_if_any()
        for sink in self._sinks.values():
            if isinstance(sink, FragmentSink):
                sink.write()  # while the rules between records are checked
        self._compact = compact({key: intake.kept for key, intake in self._intakes.items()}, self._budget)
        self._count()

    def apply(self, base: WriteBase) -> None:
        """Check what the rows mean together with what is stored, and stage the tables."""
        with self._writing():
            self._apply(base)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Let no file be written any more when something has failed."""
        try:
            yield
        except BaseException:
            for sink in self._sinks.values():
                if isinstance(sink, FragmentSink):
                    with suppress(OmniError):
                        sink.wait()
            raise

    def _apply(self, base: WriteBase) -> None:
        tables = [self._intakes[key].table for key in sorted(self._intakes)]
        hashed = self._compact
        if hashed is None or not KeyScreen(hashed, self._catalog, self._mode, tables, base).passes():
            images = self._judged(base)
            side_by_side([partial(self._stage_image, base, key, image) for key, image in images.items()])
        else:
            side_by_side([partial(self._stage_hashed, base, table, hashed) for table in tables])

    def _judged(self, base: WriteBase) -> dict[str, TableImage]:
        """Let the exact rules look at all keys, and raise what they find."""
        problems = Problems()
        images = images_of(self._intakes, self._mode, self._source.locate)
        judge(self._catalog, images, StoredRows(base), problems)
        problems.raise_if_any()
        return images

    def _intake(self, base: WriteBase, table: TableType) -> TableIntake:
        found = self._intakes.get(table.table_key)
        if found is None:
            is_distinct = self._source.is_distinct(table.name)
            spool = self._mode == "merge" or is_distinct
            sink = SpoolSink(table_schema(table)) if spool else FragmentSink(base.table(table.table_key))
            self._sinks[table.table_key] = sink
            write = self._guarded(sink, table)
            report = self._problems.add
            locate, pending = self._source.locate, self._pending
            found = TableIntake(table, write, report, locate, pending, self._budget, is_distinct)
            self._intakes[table.table_key] = found
        return found

    def _guarded(self, sink: Callable[[pa.Table], None], table: TableType) -> Callable[[pa.Table], None]:
        """Embed and write nothing more once something is wrong: the rest is only read for its problems."""

        def write(rows: pa.Table) -> None:
            if not self._problems.total:
                for part in self._vectors.filled(table, rows) if self._vectors else (rows,):
                    sink(part)

        return write

    @property
    def _pending(self) -> Pending:
        return self._vectors.pending if self._vectors else nothing_pending

    def _count(self) -> None:
        for intake in self._intakes.values():
            counts = self.nodes if isinstance(intake.table, NodeType) else self.edges
            counts[intake.table.name] = intake.kept.rows

    def _stage_image(self, base: WriteBase, key: str, image: TableImage) -> None:
        known = image.delta.ids.filter(image.could_be_stored) if self._mode == "merge" else ()
        is_stored = len(known) > 0 and len(StoredRows(base).ids_among(key, known)) > 0
        if image.doubles:
            self.nodes[image.table.name] = self._intakes[key].kept.rows - image.doubles
        self._stage_table(base, key, is_stored, image.dropped)

    def _stage_hashed(self, base: WriteBase, table: TableType, hashed: KeysInMemory) -> None:
        is_stored = self._mode == "merge" and any_is_stored(hashed, table, base)
        self._stage_table(base, table.table_key, is_stored, NO_ROWS)

    def _stage_table(self, base: WriteBase, key: str, is_stored: bool, dropped: Rows) -> None:
        """Stage the rows of a table but those with the given numbers; some replace stored ones or none."""
        table, sink = base.table(key), self._sinks[key]
        if isinstance(sink, FragmentSink):
            if self._mode == "overwrite":
                table.overwrite(sink.staged())
            elif sink.staged().rows:
                table.append(sink.staged())
        elif self._mode == "overwrite":
            has_rows = self._intakes[key].kept.rows > 0
            table.overwrite(table.write_rows(sink.reader(dropped)) if has_rows else StagedFragments((), 0))
        elif self._intakes[key].kept.rows:
            rows = sink.reader(dropped)
            if is_stored:
                table.merge(rows)
            else:
                table.append(table.write_rows(rows))
        hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)
