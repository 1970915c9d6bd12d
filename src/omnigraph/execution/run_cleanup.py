"""A cleanup of a graph that is open, from what its caller asks for."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.graph.backup.holds import release_abandoned
from omnigraph.graph.handle import Graph
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup, CleanupRequest, cleanup
from omnigraph.graph.maintenance.cleanup.retention import Limits
from omnigraph.graph.maintenance.durations import seconds_of
from omnigraph.graph.manifest.record import storable
from omnigraph.graph.proposals.settle import finish_merges
from omnigraph.graph.proposals.stored import ProposalContext
from omnigraph.storage.files.reserve import reserve_released


def run_cleanup(
    graph: Graph, keep: int | None, older_than: timedelta | str | None, dry_run: bool, message: str | None
) -> Cleanup:
    """Drop old commits of every branch and remove what nothing needs any more."""
    graph.internals.check_allowed("admin")
    if not dry_run:
        graph.internals.check_writable()
    core = graph.internals.whole
    said = storable("message", message, core.settings.commit_text_bytes)
    request = CleanupRequest(read_limits(keep, older_than), graph.actor, said, dry_run)
    if not dry_run:
        finish_merges(ProposalContext(core, graph.actor))
        release_abandoned(core.truth, core.settings.backup_hold_seconds)
    with nullcontext() if dry_run else reserve_released(core.truth.store):
        found = cleanup(core.truth, core.settings, request)
    if not dry_run:
        core.tables.clear()  # they may hold versions that are gone
        core.truth.chains.clear()
    # Sizes of tables tell of hidden rows.
    return found if graph.internals.sees_all_branches() else replace(found, tables=())


def read_limits(keep: int | None, older_than: timedelta | str | None) -> Limits:
    """Return what a caller wants to keep, or say what is wrong with it."""
    if keep is not None and (not isinstance(keep, int) or isinstance(keep, bool) or keep < 1):
        raise BadInput(f"keep is {keep!r}: it must be a whole number of 1 or more, the newest commit stays")
    age = seconds_of(older_than, "older_than")
    since = None if age is None else clock.current().now_us() - int(age * 1e6)
    return Limits(keep, since, idle=False)
