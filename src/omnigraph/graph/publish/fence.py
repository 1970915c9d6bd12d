"""Fences: a commit never names a file that a cleanup may remove.

Before cleanup removes anything it writes down all that it may remove, as the list of its number, and then
puts a record with that number, a fence, onto every live branch. Only then it looks for the last time at what
must be kept. A commit that is published without meeting the fence is seen by that look. One that meets it
compares what it would name with the lists of all cleanups that it has not known. No clock is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.base.errors import Contention, NotFound
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.publish.table_files import table_files
from omnigraph.storage.namespace import PinnedTable

KeyedTable = tuple[str, PinnedTable]
"""A table's key, and a version of it."""


def is_condemned(truth: Truth, plan: PublishPlan, fence: int) -> bool:
    """Return whether a plan that meets this fence would name something that a cleanup may remove."""
    if fence <= plan.staged_behind or not (plan.writes or plan.definitions):
        return False
    return not is_spared(truth, _written_tables(plan), plan.definitions, plan.staged_behind, fence)


def list_written_files(truth: Truth, plan: PublishPlan) -> Iterator[str]:
    """Yield the paths of all files of the table versions that a plan would publish."""
    for key, table in _written_tables(plan):
        yield from _files(truth, key, table)


def _written_tables(plan: PublishPlan) -> list[KeyedTable]:
    return [(item.key, PinnedTable(item.location, item.pin)) for item in plan.writes.values()]


def is_spared(
    truth: Truth, tables: Iterable[KeyedTable], definitions: Iterable[str], after: int, up_to: int
) -> bool:
    """Return whether the cleanups of the numbers `after` + 1 to `up_to` leave all of these alone."""
    if up_to <= after:
        return True
    try:
        paths = {layout.schema_path(address) for address in definitions}
        for key, table in tables:
            paths.update(_files(truth, key, table))
    except NotFound:
        return False  # it is gone already
    return truth.condemned.spare(paths, after, up_to)


def _files(truth: Truth, key: str, table: PinnedTable) -> Iterator[str]:
    for path in table_files(truth.store, key, table).paths():
        yield f"{table.location}/{path}"


def swept_error(branch: str) -> Contention:
    """Return the error for a write that has to be made again."""
    return Contention(
        f"a cleanup came between this write of branch {branch!r} and its commit and may have removed files "
        "that it had staged: try again (OMNIGRAPH_CLEANUP_GRACE_SECONDS says how long such files are safe)",
        branch=branch,
    )
