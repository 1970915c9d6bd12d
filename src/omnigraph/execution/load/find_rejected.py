"""Which records a load must leave out so that the rest is valid."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource
from omnigraph.execution.load.keys.exact_check import check_exactly
from omnigraph.execution.load.keys.key_screen import KeyScreen
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem, Problems, as_error
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.write_state import WriteBase

Rejected = dict[int, list[Problem]]
"""The problems of each record that is left out, by its place."""
NO_LIMIT = 10**9
"""So many problems are reported, where each wrong record must be known."""


def find_rejected(executor: Executor, order: ReadOrder, base: WriteBase) -> Rejected:
    """Return the places of the records to leave out so that the rest is valid, with the reasons."""
    read = executor.read(replace(order, writes=False, limit=NO_LIMIT), base)
    rejected: Rejected = {}
    _blame([problem for _, problem in read.problems.list_first()], rejected)
    # Of several records at one place all are left out, including valid ones.
    is_shared = bool(rejected) and len(order.source.type_names()) > 1
    tables = [read.tables[key].table for key in sorted(read.tables)]
    keys = None if is_shared else read.keys
    if keys is None or not KeyScreen(keys, order.catalog, order.mode, tables, base).passes():
        _reject_sets(order, base, read, rejected)
    return rejected


def _reject_sets(order: ReadOrder, base: WriteBase, read: ReadSource, rejected: Rejected) -> None:
    """Add the records that are valid alone and invalid together.

    Leaving a record out can make another invalid (an edge to a node that is not loaded), so this repeats
    until all are valid. A problem that no record of the load causes is raised.
    """
    while found := _find_set_problems(order, base, read, rejected):
        before = len(rejected)
        _blame(found, rejected)
        if len(rejected) == before:
            raise as_error(found[:20], len(found))


def _find_set_problems(
    order: ReadOrder, base: WriteBase, read: ReadSource, rejected: Rejected
) -> list[Problem]:
    bad = pa.array(sorted(rejected), pa.int64())
    images: dict[str, TableImage] = {}
    for key, part in sorted(read.tables.items()):
        keys = part.keys(base)
        kept = keys.filter(pc.invert(pc.is_in(keys["_place"], bad)))
        images[key] = TableImage(part.table, kept, order.mode, order.source.locate)
    problems = Problems(limit=NO_LIMIT)
    check_exactly(order.catalog, images, BranchRows(base), problems)
    # An edge that is left out no longer counts for its source, so cardinality comes last.
    others = [problem for problem in problems.found if problem.rule != "card"]
    return others or problems.found


def _blame(problems: list[Problem], rejected: Rejected) -> None:
    """Reject the records that problems are about."""
    for problem in problems:
        for place in (problem.place, *problem.others):
            if isinstance(place, RecordPlace):
                rejected.setdefault(place.at, []).append(problem)
