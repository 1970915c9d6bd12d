"""Which files of a load's tasks are joined, so that many small partitions do not become as many files."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.storage.tables.staging import StagedFragments

_SMALL_BYTES = 16 * 2**20
_FILE_BYTES = 128 * 2**20
_FILE_ROWS = 1_048_576
_MAX_JOINED_BYTES = 2**30
"""What one process writes again at most; the rest is left to `optimize`, whose tasks join in parallel."""


def group_small_files(staged: Sequence[StagedFragments]) -> list[list[StagedFragments]]:
    """Return successive files of tasks in groups that become one file each; a large one stands alone."""
    groups: list[list[StagedFragments]] = []
    size = rows = joined = 0
    for part in staged:
        is_small = part.size_bytes < _SMALL_BYTES and joined + part.size_bytes <= _MAX_JOINED_BYTES
        if is_small and groups and 0 < size < _FILE_BYTES and rows + part.rows <= _FILE_ROWS:
            groups[-1].append(part)
        else:
            groups.append([part])
            size = rows = 0
        if is_small:
            size, rows, joined = size + part.size_bytes, rows + part.rows, joined + part.size_bytes
        else:
            size = 0
    return groups
