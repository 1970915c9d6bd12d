"""Which records of a load must be left out for the others to be right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.keys.exact_check import Keyed, judge
from omnigraph.execution.load.keys.key_screen import KeyScreen
from omnigraph.execution.load.keys.key_spool import KeyBudget, compact
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.sources.source import Source
from omnigraph.execution.load.stage.intake import Pending, TableIntake, nothing_pending
from omnigraph.execution.load.stage.read_source import Reading
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem, Problems, as_error
from omnigraph.graph.write.integrity.stored import Stored, StoredRows
from omnigraph.graph.write.write_state import WriteBase

Rejected = dict[int, list[Problem]]
"""What is wrong with each record that is left out, by its place."""
_ALL = 10**9


def survey(
    source: Source, catalog: Catalog, mode: Mode, base: WriteBase, pending: Pending = nothing_pending
) -> Rejected:
    """Return the places of all records that must be left out for the others to be right, with the reasons."""
    rejected: Rejected = {}
    intakes: dict[str, TableIntake] = {}
    budget = KeyBudget()

    def report(problems: Sequence[Problem]) -> None:
        for problem in problems:
            for place in _blamed(problem):
                rejected.setdefault(place.at, []).append(problem)

    def intake_of(table: TableType) -> TableIntake:
        if table.table_key not in intakes:
            is_distinct = source.is_distinct(table.name)
            intakes[table.table_key] = TableIntake(
                table, lambda rows: None, report, source.locate, pending, budget, is_distinct
            )
        return intakes[table.table_key]

    Reading(source, catalog, intake_of, report).run()
    for intake in intakes.values():
        intake.flush()
    hashed = compact({key: intake.kept for key, intake in intakes.items()}, budget)
    tables = [intakes[key].table for key in sorted(intakes)]
    # Of several records at one place all are left out, also those that are right by themselves.
    is_shared = bool(rejected) and len(source.type_names()) > 1
    if hashed is None or is_shared or not KeyScreen(hashed, catalog, mode, tables, base).passes():
        reject_sets(source.locate, catalog, mode, StoredRows(base), intakes, rejected)
    return rejected


def reject_sets(
    places: Callable[[int], RecordPlace],
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
        found = _set_problems(places, catalog, mode, stored, intakes, rejected)
        if not found:
            return
        before = len(rejected)
        for problem in found:
            for place in _blamed(problem):
                rejected.setdefault(place.at, []).append(problem)
        if len(rejected) == before:
            raise as_error(found[:20], len(found))


def _set_problems(
    places: Callable[[int], RecordPlace],
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
        images[key] = TableImage(intake.table, kept, mode, places)
    problems = Problems(limit=_ALL)
    judge(catalog, images, stored, problems)
    # An edge that is left out no longer counts for its source, so cardinality comes last.
    others = [problem for problem in problems.found if problem.rule != "card"]
    return others or problems.found


def _blamed(problem: Problem) -> list[RecordPlace]:
    """Return the records that a problem is about."""
    return [place for place in (problem.place, *problem.others) if isinstance(place, RecordPlace)]
