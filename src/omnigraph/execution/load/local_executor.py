"""`Executor` of this process: one task for the whole source, whose blocks are read by threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource
from omnigraph.execution.load.keys.key_spool import KeyBudget, compact
from omnigraph.execution.load.keys.row_digest import Rows
from omnigraph.execution.load.mode import UPSERTS
from omnigraph.execution.load.sources.arrow_columns import table_of
from omnigraph.execution.load.stage.intake import TableIntake
from omnigraph.execution.load.stage.patches import PatchedTables
from omnigraph.execution.load.stage.read_split import SplitTask, ignore
from omnigraph.execution.load.stage.sinks import FragmentSink, RowSink, SpoolSink
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.tables.staging import StagedFragments


@dataclass(frozen=True, slots=True)
class LocalReadTable:
    """`ReadTable`: the keys of an intake and the rows of a sink."""

    intake: TableIntake
    sink: RowSink | None

    @property
    def table(self) -> TableType:
        return self.intake.table

    @property
    def rows(self) -> int:
        return self.intake.kept.rows

    @property
    def rows_with_id(self) -> int:
        return self.intake.kept.rows_with_id

    def keys(self, base: WriteBase) -> pa.Table:
        return self.intake.keys()

    def collect_fragments(self, base: WriteBase) -> StagedFragments | None:
        assert self.sink is not None
        return self.sink.collect_fragments()

    def reader(self, base: WriteBase, dropped: Rows) -> pa.RecordBatchReader:
        assert isinstance(self.sink, SpoolSink)  # what may be dropped or merged is kept there
        return self.sink.reader(dropped)

    def merge(self, base: WriteBase, dropped: Rows) -> None:
        base.table(self.table.table_key).merge(self.reader(base, dropped))


class LocalExecutor(Executor):
    """Reads in this process, and keeps no more keys in memory than a load may."""

    def read(self, order: ReadOrder, base: WriteBase) -> ReadSource:
        """Read all records; files are written in the background, also after this returns."""

        def sink_of(table: TableType) -> RowSink:
            # An upsert, and a load that drops repeated records, read the rows once they know what is stored.
            if order.mode in UPSERTS or order.source.is_distinct(table.name):
                return SpoolSink(table_schema(table))
            return FragmentSink(base.table(table.table_key))

        budget = KeyBudget()
        task = SplitTask(
            order.source,
            order.catalog,
            sink_of if order.writes else None,
            order.vectors,
            order.limit,
            budget,
            PatchedTables(base.view_pinned()) if order.mode == "patch" else None,
        )

        def wait() -> None:
            for sink in task.sinks.values():
                with suppress(OmniError):
                    sink.wait()

        try:
            task.run(order.skip or frozenset(), order.skipped or ignore)
            for name in order.source.type_names():
                table = table_of(order.catalog, name)
                if table.table_key not in task.occurring:
                    task.intake(table)
            kept = {key: intake.kept for key, intake in task.intakes.items()}
            is_wrong = order.writes and task.problems.total > 0
            for sink in task.sinks.values() if not is_wrong else ():
                sink.write()  # while the rules between records are checked
            keys = None if is_wrong else compact(kept, budget)
        except BaseException:
            wait()
            raise
        tables = {key: LocalReadTable(intake, task.sinks.get(key)) for key, intake in task.intakes.items()}
        return ReadSource(tables, task.problems, keys, wait, order.source.cut, task.stale)

    def run(self, steps: Sequence[Callable[[], None]]) -> None:
        side_by_side(steps)
