"""Reading a source into intakes: blocks the quick way where they are plainly right, else record by record."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.parse.strict_json import BadRecord, RecordReader, parse_line
from omnigraph.execution.load.sources.arrow_columns import table_of
from omnigraph.execution.load.sources.source import GivenRecord, Source
from omnigraph.execution.load.stage.intake import TableIntake
from omnigraph.execution.load.stage.parallel_blocks import read_ahead
from omnigraph.graph.write.integrity.problems import Problem

Skipped = Callable[[int, bytes | Mapping[str, Any]], None]


def _ignore(_: int, __: bytes | Mapping[str, Any]) -> None:
    """Let a skipped record go."""


class Reading:
    """One pass over a source. A record's place is one number: its file's, and its line's."""

    def __init__(
        self,
        source: Source,
        catalog: Catalog,
        intake_of: Callable[[TableType], TableIntake],
        report: Callable[[Sequence[Problem]], None],
    ) -> None:
        self._source = source
        self._catalog = catalog
        self._reader = RecordReader(catalog)
        self._intake_of = intake_of
        self._report = report

    def run(self, skip: frozenset[int] = frozenset(), skipped: Skipped = _ignore) -> int:
        """Send every record to its table's intake, but those at the places to skip, which `skipped` gets.

        Return how many lines or rows there were.
        """
        named = [table_of(self._catalog, name) for name in self._source.type_names()]
        places, count = sorted(skip), 0
        occurring: set[str] = set()
        for block, found in read_ahead(self._source.blocks(self._catalog)):
            count += block.count
            if found is None or bisect_left(places, block.first) < bisect_left(places, block.last + 1):
                for given in block.records():
                    occurring.update(given.types)
                    skipped(given.place, given.record) if given.place in skip else self._take(given)
                continue
            for part, at in found:
                occurring.add(part.table.table_key)
                self._intake_of(part.table).take_batch(part.rows, at, part.explicit)
        for table in named:
            # A type that is named without any row counts as occurring: an overwrite then empties it. One
            # whose rows were all left out does not.
            if table.table_key not in occurring:
                self._intake_of(table)
        return count

    def _take(self, given: GivenRecord) -> None:
        try:
            if given.bad is not None:
                raise given.bad
            record = given.record
            row = self._reader.read(parse_line(record) if isinstance(record, bytes) else record)
        except BadRecord as bad:
            place = self._source.locate(given.place)
            self._report([replace(problem, place=place) for problem in bad.problems])
        else:
            self._intake_of(row.table).take(row.values, given.place, row.explicit)
