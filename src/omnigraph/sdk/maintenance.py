"""Maintenance as the public API offers it: optimize and repair."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.base.errors import BadInput
from omnigraph.execution.engine import Estimate, check_engine, choose_engine
from omnigraph.graph.handle import Graph
from omnigraph.graph.maintenance.optimize.optimize import Optimization, Progress, ensure_indices, optimize
from omnigraph.graph.maintenance.verify.repair import repair
from omnigraph.graph.maintenance.verify.repair_report import Repair
from omnigraph.pipeline.engine import find_spark, start_spark_maintenance


def run_optimize(
    graph: Graph, branch: str | None, progress: Progress | None, engine: str, compacts: bool = True
) -> Optimization:
    """Optimize the tables of a branch, in this process or as Spark jobs."""
    check_engine(engine)
    _check_progress(progress, "a table")
    graph.internals.check_allowed("admin")
    graph.internals.check_writable()
    choice = choose_engine(engine, lambda: _estimate(graph, branch), lambda: find_spark(starts=False))
    executor = start_spark_maintenance(graph.settings) if choice.is_spark else None
    run = optimize if compacts else ensure_indices
    done = run(graph, branch, progress, executor)
    told = replace(done, engine=choice.engine.value, engine_reason=choice.reason)
    # Sizes of tables, and which have anything to index, tell of hidden rows.
    return told if graph.internals.sees_all(branch) else replace(told, tables=())


def run_repair(graph: Graph, confirm: bool, scrub: bool, progress: Progress | None) -> Repair:
    """Verify the whole graph; with `confirm` fix what needs no guess."""
    _check_progress(progress, "a file")
    graph.internals.check_allowed("admin")
    if confirm:
        graph.internals.check_writable()
    graph.internals.check_sees_all_branches("a repair")
    return repair(graph.internals.whole, confirm, scrub, progress)


def _estimate(graph: Graph, branch: str | None) -> Estimate:
    rows = sum(table.rows for table in graph.snapshot_of(graph.internals.read_state(branch)).tables)
    return Estimate("the tables have", rows, "row", graph.settings.spark_optimize_rows)


def _check_progress(progress: Progress | None, what: str) -> None:
    if progress is not None and not callable(progress):
        raise BadInput(
            f"progress is {progress!r}: give a function of three arguments: {what}, number done, total"
        )
