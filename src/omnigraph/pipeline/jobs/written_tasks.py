"""`WrittenTasks`: what the tasks of a write have told, as an executor that reads nothing any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import Conflict
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.export.export_files import records_of
from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.execution.load.keys.row_digest import Rows
from omnigraph.execution.load.stage.read_split import ignore
from omnigraph.execution.load.stage.sinks import without_rows
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.jobs.load import collect
from omnigraph.pipeline.steps.split import first_places
from omnigraph.pipeline.workers.outcome import Runs, SplitOutcome, SplitTableOutcome, decode
from omnigraph.storage.tables.staging import StagedFragments

_NOTHING = StagedFragments((), 0)


@dataclass(frozen=True)
class WrittenTasks(Executor):
    """Tasks that have run already. Where wrong records are put aside, they have done so with their own."""

    said: pa.Table
    key: int
    schema: str
    """The schema by which the rows were checked."""
    version: str = ""
    """The path of the version of the table that patches were completed from."""
    can_read_again = False

    def read(self, order: ReadOrder, base: WriteBase) -> ReadSource:
        if not same_schema(base.state.head.schema, self.schema):
            raise Conflict("the schema was changed while rows were written: write the data frame again")
        outcomes, hashes = decode(self.said)
        firsts = first_places((), outcomes)
        left = [self._as_asked(order, base, *one) for one in zip(outcomes, firsts, strict=True)]
        is_known = not any(outcome.doubtful or outcome.total for outcome in outcomes)
        is_whole = all(rest.tables is outcome.tables for rest, outcome in zip(left, outcomes, strict=True))
        keys = KeysInMemory(hashes, self.key)
        read = replace(collect(order, left, firsts, keys, None), keys=keys if is_known and is_whole else None)
        if order.mode == "patch" and any(base.rely_on(key).pin.path != self.version for key in read.tables):
            raise Conflict("the table was changed while its rows were patched: write the data frame again")
        return read

    def _as_asked(self, order: ReadOrder, base: WriteBase, outcome: SplitOutcome, first: int) -> SplitOutcome:
        """Return an outcome with the problems of all records, or without the rows that are left out."""
        if not order.writes:
            problems = [*outcome.problems, *outcome.aside]
            return replace(outcome, problems=problems, total=outcome.total + len(outcome.aside))
        return outcome if order.skip is None else self._leave_out(order, base, outcome, first)

    def _leave_out(
        self, order: ReadOrder, base: WriteBase, outcome: SplitOutcome, first: int
    ) -> SplitOutcome:
        """Return an outcome without the rows that are left out, although its task has written them."""
        skip, skipped = {place - first for place in order.skip or ()}, order.skipped or ignore
        more = sorted(skip - {at for at, _ in outcome.skipped})
        tables: dict[str, SplitTableOutcome] = {}
        for key, part in outcome.tables.items() if more else ():
            table, places = order.catalog.table(key), part.places.places()
            assert table is not None
            numbers = np.flatnonzero(np.isin(places, more))
            if len(numbers):
                for number, record in _records_at(base, table, part, numbers):
                    skipped(first + int(places[number]), record)
                tables[key] = _without(base, table, part, numbers)
        return replace(outcome, tables={**outcome.tables, **tables}) if tables else outcome


def _records_at(
    base: WriteBase, table: TableType, part: SplitTableOutcome, numbers: Rows
) -> Iterator[tuple[int, Any]]:
    """Yield written rows, by sorted numbers, as records that a load accepts; ids that were made stay out."""
    given, start = part.explicit_mask(), 0
    for batch in base.draft(table.table_key, part.staged).batches(table_schema(table)):
        first, last = np.searchsorted(numbers, (start, start + batch.num_rows))
        own = numbers[first:last]
        rows = pa.Table.from_batches([batch]).take(pa.array(own - start))
        for number, record in zip(own.tolist(), records_of(table, rows), strict=True):
            data = dict(record["data"])
            if not given[number].as_py():
                data.pop("id", None)
            yield number, {**record, "data": data}
        start += batch.num_rows


def _without(base: WriteBase, table: TableType, part: SplitTableOutcome, numbers: Rows) -> SplitTableOutcome:
    """Return what a task has written without the rows with these sorted numbers, in new files."""
    stays = np.delete(np.arange(part.rows), numbers)
    staged, schema = _NOTHING, table_schema(table)
    if len(stays):
        kept = without_rows(base.draft(table.table_key, part.staged).batches(schema), numbers)
        staged = base.table(table.table_key).write_rows(pa.RecordBatchReader.from_batches(schema, kept))
    given = np.asarray(part.explicit_mask().to_numpy(zero_copy_only=False), dtype=bool)[stays]
    return SplitTableOutcome(
        rows=len(stays),
        staged=staged,
        places=Runs.of(part.places.places()[stays]),
        explicit=np.packbits(given) if given.any() else None,
    )
