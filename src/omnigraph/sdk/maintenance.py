"""Maintenance as the public API offers it: optimize, cleanup and repair."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.execution.engine import Estimate, check_engine, choose_engine
from omnigraph.graph.backup.holds import release_abandoned
from omnigraph.graph.handle import Graph
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup, CleanupRequest, cleanup
from omnigraph.graph.maintenance.cleanup.retention import Limits
from omnigraph.graph.maintenance.durations import seconds_of
from omnigraph.graph.maintenance.optimize.optimize import Optimization, Progress, ensure_indices, optimize
from omnigraph.graph.maintenance.verify.repair import repair
from omnigraph.graph.maintenance.verify.repair_report import Repair
from omnigraph.graph.manifest.record import storable
from omnigraph.pipeline.engine import find_spark, start_spark_maintenance
from omnigraph.storage.files.reserve import reserve_released


def run_optimize(
    graph: Graph, branch: str | None, progress: Progress | None, engine: str, compacts: bool = True
) -> Optimization:
    """Optimize the tables of a branch, in this process or as Spark jobs."""
    check_engine(engine)
    _check_progress(progress, "a table")
    graph._must_be_writable()
    choice = choose_engine(engine, lambda: _estimate(graph, branch), lambda: find_spark(starts=False))
    executor = start_spark_maintenance(graph.settings) if choice.is_spark else None
    run = optimize if compacts else ensure_indices
    done = run(graph, branch, progress, executor)
    return replace(done, engine=choice.engine.value, engine_reason=choice.reason)


def run_cleanup(
    graph: Graph, keep: int | None, older_than: timedelta | str | None, dry_run: bool, message: str | None
) -> Cleanup:
    """Drop old commits of every branch and remove what nothing needs any more."""
    if not dry_run:
        graph._must_be_writable()
    core = graph._core
    said = storable("message", message, core.settings.commit_text_bytes)
    request = CleanupRequest(_limits(keep, older_than), graph.actor, said, dry_run)
    if not dry_run:
        release_abandoned(core.truth, core.settings.backup_hold_seconds)
    with nullcontext() if dry_run else reserve_released(core.truth.store):
        found = cleanup(core.truth, core.settings, request)
    if not dry_run:
        core.tables.clear()  # they may hold versions that are gone
        core.truth.chains.clear()
    return found


def run_repair(graph: Graph, confirm: bool, scrub: bool, progress: Progress | None) -> Repair:
    """Verify the whole graph; with `confirm` fix what needs no guess."""
    _check_progress(progress, "a file")
    if confirm:
        graph._must_be_writable()
    return repair(graph._core, confirm, scrub, progress)


def _estimate(graph: Graph, branch: str | None) -> Estimate:
    rows = sum(table.rows for table in graph.snapshot(branch).tables)
    return Estimate("the tables have", rows, "row", graph.settings.spark_optimize_rows)


def _check_progress(progress: Progress | None, what: str) -> None:
    if progress is not None and not callable(progress):
        raise BadInput(
            f"progress is {progress!r}: give a function of three arguments: {what}, number done, total"
        )


def _limits(keep: int | None, older_than: timedelta | str | None) -> Limits:
    if keep is not None and (not isinstance(keep, int) or isinstance(keep, bool) or keep < 1):
        raise BadInput(f"keep is {keep!r}: it must be a whole number of 1 or more, the newest commit stays")
    age = seconds_of(older_than, "older_than")
    since = None if age is None else clock.current().now_us() - int(age * 1e6)
    return Limits(keep, since, idle=False)
