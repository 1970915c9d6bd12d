"""A merge onto stored rows as Spark jobs: replaced rows are found by a join and marked as deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from omnigraph.execution.spark.failures import spark_errors
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.run import cores_of
from omnigraph.pipeline.workers.replace import (
    DELETED_FIELDS,
    LOADED_FIELDS,
    STORED_FIELDS,
    DeleteRows,
    LoadedIds,
    StoredIds,
)
from omnigraph.storage.tables.staging import StagedFragments


def replace_stored(spark: Any, base: WriteBase, key: str, parts: Sequence[StagedFragments]) -> None:
    """Stage versions of a table with the given rows in place of the stored rows with the same ids.

    Ids themselves are compared, not hashes. This process holds one row for each fragment.
    """
    table, view = base.table(key), base.view_staged()
    stored = _group(list(table.fragment_sizes()), cores_of(spark))
    written = [part for part in parts if part.rows]
    with spark_errors(f"merging into {key}"):
        there = _run(spark, StoredIds(view, key, stored), len(stored), STORED_FIELDS)
        coming = _run(
            spark, LoadedIds(base.store, view.pinned_table(key), written), len(written), LOADED_FIELDS
        )
        found = there.join(coming, "id", "left_semi").select("fragment", "address")
        deleting = DeleteRows(view, key)

        def delete(rows: pa.Table) -> pa.Table:  # Spark counts the arguments of what it is given
            return deleting.of_fragment(rows)

        answers = found.groupBy("fragment").applyInArrow(delete, DELETED_FIELDS).toArrow()
    table.put_deletions(
        dict(zip(answers["fragment"].to_pylist(), answers["metadata"].to_pylist(), strict=True))
    )
    table.append(StagedFragments.join(written))


def _run(spark: Any, task: Any, count: int, fields: str) -> Any:
    return spark.range(0, count, 1, max(1, count)).mapInArrow(task.__call__, fields)


def _group(fragments: list[int], groups: int) -> list[list[int]]:
    """Return successive fragments in at most `groups` groups."""
    size = -(-len(fragments) // max(1, groups))
    return [fragments[first : first + size] for first in range(0, len(fragments), size)]
