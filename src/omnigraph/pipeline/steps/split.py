"""Cutting a source into splits, and counting its records across them."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.execution.load.sources.record_location import pack_place
from omnigraph.execution.load.sources.source import LoadSource, Split
from omnigraph.pipeline.workers.outcome import SplitOutcome

_MIN_SPLIT_BYTES = 4 * 2**20
_TASKS_PER_CORE = 4


def split_source(source: LoadSource, cores: int, largest: int) -> list[Split]:
    """Cut a source into splits of at most `largest` bytes where possible, several for each core."""
    wanted = max(_MIN_SPLIT_BYTES, (source.size_bytes() or 0) // max(1, cores * _TASKS_PER_CORE) + 1)
    return list(source.splits(max(1, min(wanted, largest))))


def first_places(splits: Sequence[Split], outcomes: Sequence[SplitOutcome]) -> list[int]:
    """Return the number of the first record of each split, or partition of a data frame."""
    before, file, firsts = 0, 0, []
    for number, outcome in enumerate(outcomes):
        if splits and splits[number].file != file:
            before, file = 0, splits[number].file
        firsts.append(pack_place(file, before))
        before += outcome.records
    return firsts
