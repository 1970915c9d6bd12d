"""`LoadWork`: a load as work for `commit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog, NodeType, TableType
from omnigraph.execution.load.intake import TableIntake
from omnigraph.execution.load.reading import Reading, place_text
from omnigraph.execution.load.sinks import FragmentSink, SpoolSink
from omnigraph.execution.load.sources import Source
from omnigraph.graph.columns import table_schema
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.write.base import WriteBase
from omnigraph.graph.write.integrity.check import check_sets
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.problems import Problem, Problems, shown
from omnigraph.graph.write.integrity.stored import StoredRows
from omnigraph.graph.write.integrity.uniqueness import repeated, tuple_texts

Mode = Literal["append", "merge", "overwrite"]


class LoadWork:
    """Work for `commit`: the records of a source, read once, checked against every state it is applied to."""

    operation = "load"
    commit_class = CommitClass.LOGICAL

    def __init__(
        self,
        source: Source,
        mode: Mode,
        catalog_at: Callable[[str], Catalog],
        skip: frozenset[int] = frozenset(),
    ) -> None:
        """Take a source, what to do with stored rows, and the places of records to pass over."""
        self._source = source
        self._mode: Mode = mode
        self._catalog_at = catalog_at
        self._skip = skip
        self.nodes: dict[str, int] = {}
        self.edges: dict[str, int] = {}

    @property
    def repeatable(self) -> bool:
        """An overwrite saw all rows of its tables; the others may be checked against a newer state."""
        return self._mode != "overwrite"

    def stage(self, base: WriteBase) -> None:
        """Read and check every record, and write the rows."""
        self._catalog = self._catalog_at(base.state.head.schema)
        self._intakes: dict[str, TableIntake] = {}
        self._sinks: dict[str, FragmentSink | SpoolSink] = {}
        self._problems = Problems()
        reading = Reading(self._source, self._catalog, lambda table: self._intake(base, table), self._report)
        reading.run(self._skip)
        for intake in self._intakes.values():
            intake.flush()
        self._problems.raise_if_any()
        self._count()

    def apply(self, base: WriteBase) -> None:
        """Check what the rows mean together with what is stored, and stage the tables."""
        problems = Problems()
        images = {key: _Image(intake, self._mode, self.place) for key, intake in self._intakes.items()}
        stored = StoredRows(base)
        for image in images.values():
            problems.add(image.clashes(stored))
        problems.raise_if_any()
        deltas = {key: image.delta for key, image in images.items()}
        check_sets(self._catalog, deltas, stored, problems)
        problems.raise_if_any()
        for key in sorted(images):
            self._stage_table(base, key, images[key], stored)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

    def place(self, number: int) -> str:
        """Return the text of a record's place."""
        return place_text(self._source, number)

    def _report(self, _: int, problems: Sequence[Problem]) -> None:
        self._problems.add(problems)

    def _intake(self, base: WriteBase, table: TableType) -> TableIntake:
        found = self._intakes.get(table.table_key)
        if found is None:
            spool = self._mode == "merge"
            sink = SpoolSink(table_schema(table)) if spool else FragmentSink(base.table(table.table_key))
            self._sinks[table.table_key] = sink
            found = TableIntake(table, self._guarded(sink), self._problems.add, self.place)
            self._intakes[table.table_key] = found
        return found

    def _guarded(self, sink: Callable[[pa.Table], None]) -> Callable[[pa.Table], None]:
        """Write nothing more once something is wrong: the rest is only read for its problems."""

        def write(rows: pa.Table) -> None:
            if not self._problems.total:
                sink(rows)

        return write

    def _count(self) -> None:
        for intake in self._intakes.values():
            counts = self.nodes if isinstance(intake.table, NodeType) else self.edges
            counts[intake.table.name] = intake.keys().num_rows

    def _stage_table(self, base: WriteBase, key: str, image: _Image, stored: StoredRows) -> None:
        table, sink = base.table(key), self._sinks[key]
        if isinstance(sink, FragmentSink):
            if self._mode == "overwrite":
                table.overwrite(sink.staged())
            elif sink.staged().rows:
                table.append(sink.staged())
            return
        known = image.delta.ids.filter(image.could_be_stored)
        rows = sink.reader(image.dropped)
        if len(known) and len(stored.ids_among(key, known)):
            table.merge(rows)
        else:
            table.append(table.write_rows(rows))


class _Image:
    """The final image of one table of a load, and what is wrong within it."""

    def __init__(self, intake: TableIntake, mode: Mode, place: Callable[[int], str]) -> None:
        self.table, self._mode, self._place = intake.table, mode, place
        self._all = intake.keys()
        self.dropped = self._repeated_ids() if mode == "merge" and not self._has_key else frozenset()
        kept = self._all
        if self.dropped:
            rows = pa.array(range(kept.num_rows), pa.int64())
            kept = kept.filter(pc.invert(pc.is_in(rows, pa.array(sorted(self.dropped), pa.int64()))))
        places = kept["_place"].combine_chunks()
        self.could_be_stored = self._could_be_stored(kept)
        self.delta = TableDelta(
            self.table,
            kept.select([name for name in kept.column_names if name not in ("_place", "_explicit")]),
            replaces=mode == "overwrite",
            place=lambda row: place(places[row].as_py()),
        )

    def clashes(self, stored: StoredRows) -> Iterator[Problem]:
        """Yield the records whose ids occur twice, or are stored already where they must be new."""
        ids, places = self._all["id"].combine_chunks(), self._all["_place"].combine_chunks()

        def at(row: int) -> str:
            return self._place(places[row].as_py())

        if self._has_key:
            yield from repeated(self.table, self._key_names, ids, at)
        elif self._mode != "merge":
            for row in sorted(self._repeated_ids(later=True)):
                yield self._conflict(ids[row].as_py(), at(row), "occurs twice in this load")
        if self.dropped:
            for group in self.table.uniques:
                yield from repeated(self.table, group, tuple_texts(self.table, self._all, group), at)
        if self._mode == "append":
            yield from self._stored_already(stored, ids, at)

    def _stored_already(
        self, stored: StoredRows, ids: pa.Array, at: Callable[[int], str]
    ) -> Iterator[Problem]:
        known = ids.filter(self._could_be_stored(self._all))
        if len(known) == 0:
            return
        taken = stored.ids_among(self.table.table_key, known)
        if len(taken):
            for row in pc.indices_nonzero(pc.is_in(ids, taken)).to_pylist():
                yield self._conflict(ids[row].as_py(), at(row), "is stored: the table already has this id")

    @property
    def _has_key(self) -> bool:
        return isinstance(self.table, NodeType) and self.table.key is not None

    @property
    def _key_names(self) -> tuple[str, ...]:
        assert isinstance(self.table, NodeType) and self.table.key is not None
        return self.table.key

    def _could_be_stored(self, rows: pa.Table) -> pa.Array:
        """Say which rows have an id that was not minted by this load."""
        if self._has_key:
            return pa.array([True] * rows.num_rows, pa.bool_())
        return rows["_explicit"].combine_chunks()

    def _repeated_ids(self, later: bool = False) -> frozenset[int]:
        """Return the rows whose id occurs again: all but the last, or all but the first."""
        ids = self._all["id"].combine_chunks()
        if pc.count_distinct(ids).as_py() == len(ids):
            return frozenset()
        seen: dict[str, int] = {}
        extra: set[int] = set()
        for row, id_ in enumerate(ids.to_pylist()):
            if id_ in seen:
                extra.add(row if later else seen[id_])
            if not later or id_ not in seen:
                seen[id_] = row
        return frozenset(extra)

    def _conflict(self, id_: str, place: str, why: str) -> Problem:
        message = f"key conflict in {self.table.name}: '{shown(id_)}' {why}"
        return Problem("key", self.table.name, message, "id", id_, place)
