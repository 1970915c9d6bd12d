"""Loading what is right, and putting what is not into a file that can be loaded once it is mended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.image import TableImage
from omnigraph.execution.load.intake import Pending, TableIntake, nothing_pending
from omnigraph.execution.load.judge import Keyed, judge
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.reader import (
    LONGEST_LINE,
    PROBLEMS_MEMBER,
    RAW_MEMBER,
    BadRecord,
    parse_line,
)
from omnigraph.execution.load.reading import Reading, place_number, place_text
from omnigraph.execution.load.sources import Source
from omnigraph.graph.write.integrity.problems import Problem, Problems, as_error, shown
from omnigraph.graph.write.integrity.stored import Stored

Rejected = dict[int, list[Problem]]
_ALL = 10**9


@dataclass
class Quarantine:
    """The file that rejected records go to, and how many there were."""

    path: Path
    count: int = 0

    @contextmanager
    def opened(
        self, source: Source, rejected: Rejected
    ) -> Iterator[Callable[[int, bytes | Mapping[str, Any]], None]]:
        """Give what puts a record away; the file appears complete, and only when there is something in it."""
        self.count = len(rejected)
        if not rejected:
            yield lambda place, record: None
            return
        draft = self.path.with_name(f"{self.path.name}.part")
        with self._writing():
            file = draft.open("w", encoding="utf-8")
        with file:

            def put_away(place: int, record: bytes | Mapping[str, Any]) -> None:
                reasons = [problem.message for problem in rejected[place]]
                line = json.dumps({**_as_record(record), PROBLEMS_MEMBER: reasons}, default=str)
                with self._writing():
                    file.write(line + "\n")

            yield put_away
        with self._writing():
            os.replace(draft, self.path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BadInput(f"rejected records cannot be written to {self.path}: {error}") from error


def survey(
    source: Source, catalog: Catalog, mode: Mode, stored: Stored, pending: Pending = nothing_pending
) -> Rejected:
    """Return the places of all records that must be left out for the others to be right, with the reasons."""
    rejected: Rejected = {}
    intakes: dict[str, TableIntake] = {}

    def report(problems: Sequence[Problem]) -> None:
        for problem in problems:
            place = place_number(source, problem.place or "")
            assert place is not None
            rejected.setdefault(place, []).append(problem)

    def intake_of(table: TableType) -> TableIntake:
        if table.table_key not in intakes:
            intakes[table.table_key] = TableIntake(
                table, lambda rows: None, report, lambda place: place_text(source, place), pending
            )
        return intakes[table.table_key]

    Reading(source, catalog, intake_of, lambda _, problems: report(problems)).run()
    reject_sets(source, catalog, mode, stored, intakes, rejected)
    return rejected


def reject_sets(
    source: Source,
    catalog: Catalog,
    mode: Mode,
    stored: Stored,
    intakes: Mapping[str, Keyed],
    rejected: Rejected,
) -> None:
    """Add the records that are right by themselves and wrong together.

    Leaving a record out can make another one wrong (an edge to a node that is not loaded), so this goes on
    until nothing more is wrong. What no record is to blame for is an error.
    """
    while True:
        found = _set_problems(source, catalog, mode, stored, intakes, rejected)
        if not found:
            return
        before = len(rejected)
        for problem in found:
            for place in _blamed(source, problem, intakes):
                rejected.setdefault(place, []).append(problem)
        if len(rejected) == before:
            raise as_error(found[:20], len(found))


def _set_problems(
    source: Source,
    catalog: Catalog,
    mode: Mode,
    stored: Stored,
    intakes: Mapping[str, Keyed],
    rejected: Rejected,
) -> list[Problem]:
    bad = pa.array(sorted(rejected), pa.int64())
    images: dict[str, TableImage] = {}
    for key, intake in sorted(intakes.items()):
        keys = intake.keys()
        kept = keys.filter(pc.invert(pc.is_in(keys["_place"], bad)))
        images[key] = TableImage(intake.table, kept, mode, lambda place: place_text(source, place))
    problems = Problems(limit=_ALL)
    judge(catalog, images, stored, problems)
    # An edge that is left out no longer counts for its source, so cardinality comes last.
    others = [problem for problem in problems.found if problem.rule != "card"]
    return others or problems.found


def _blamed(source: Source, problem: Problem, intakes: Mapping[str, Keyed]) -> list[int]:
    """Return the places of the records that a problem is about."""
    place = place_number(source, problem.place or "")
    if place is not None:
        return [place]
    if problem.rule == "card":
        keys = intakes[f"edge:{problem.type_name}"].keys()
        of_source: list[int] = keys.filter(pc.equal(keys["src"], problem.value))["_place"].to_pylist()
        return of_source
    return []


def _as_record(record: bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(record, bytes):
        return record if isinstance(record, Mapping) else {RAW_MEMBER: str(record)}
    if len(record) > LONGEST_LINE:
        return {RAW_MEMBER: shown(record[:1000].decode(errors="replace"))}  # most of it was not even read
    try:
        parsed = parse_line(record)
    except BadRecord:
        parsed = None
    return parsed if isinstance(parsed, Mapping) else {RAW_MEMBER: record.decode(errors="replace")}
