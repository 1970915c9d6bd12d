"""`SparkMaintenance`: the heavy work of `optimize` as Spark jobs over fragments, committed once."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.base.errors import OmniError
from omnigraph.base.settings import Settings
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.graph.maintenance.optimize.wanted_indexes import WantedIndex
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.run import cores_of
from omnigraph.pipeline.workers.maintenance_tasks import (
    OUTCOME_FIELDS,
    AttemptTable,
    BuildPart,
    CountVectors,
    FoldIndex,
    JoinFragments,
    JoinParts,
    MaintenanceTask,
    Step,
    TrainVectors,
)
from omnigraph.storage.indexes.indexes import IndexChanges, IndexKind
from omnigraph.storage.tables.maintenance_parts import PlannedIndex


class SparkMaintenance:
    """The executor on Spark: its tasks read and write files, and this process stages the results.

    A repeated step leaves files that nothing refers to. One that keeps failing ends the job and the attempt,
    of which nothing is visible yet.
    """

    def __init__(self, spark: Any, settings: Settings) -> None:
        self._spark, self._settings = spark, settings

    def count_vectors(self, base: WriteBase, key: str, column: str) -> int:
        """Return the number of vectors of a column that an index can be trained with."""
        at = AttemptTable(base.view_staged(), key)
        steps = [CountVectors(at, column, part) for part in self._parts(base, key)]
        return sum(_raise_first_error(self._run(steps, f"counting the vectors of {key}")))

    def fold(self, base: WriteBase, key: str, names: Sequence[str]) -> IndexChanges:
        """Add new rows to indexes, one index per task."""
        steps = [FoldIndex(base.store, base.view_staged().pinned_table(key), key, name) for name in names]
        changes = IndexChanges()
        for folded in _raise_first_error(self._run(steps, f"folding new rows into the indexes of {key}")):
            changes = changes.then(folded)
        if changes.added and not base.table(key).put_indexes(changes):
            raise AssertionError(f"the indexes of {key} do not fit the version they were folded on")
        return changes

    def compact(self, base: WriteBase, key: str, target_rows: int) -> tuple[int, int]:
        """Join small fragments, one group per task."""
        tasks = base.table(key).plan_compaction(target_rows)
        if not tasks:
            return 0, 0
        at = AttemptTable(base.view_staged(), key)
        done = _raise_first_error(
            self._run([JoinFragments(at, task) for task in tasks], f"joining the fragments of {key}")
        )
        return base.table(key).put_compaction(done, target_rows)

    def build(
        self, base: WriteBase, key: str, wanted: Sequence[WantedIndex]
    ) -> Iterator[IndexChanges | OmniError]:
        """Build all indexes at once, each in parts that cover some fragments; one task joins its parts."""
        if not wanted:
            return
        at, action = AttemptTable(base.view_staged(), key), f"building the indexes of {key}"
        planned = self._plan_indexes(base, at, wanted, action)
        parts = self._parts(base, key)
        steps = [
            BuildPart(at, index, part)
            for index in planned
            if not isinstance(index, OmniError)
            for part in parts
        ]
        built = iter(self._run(steps, action))
        whole: list[Any] = [
            index if isinstance(index, OmniError) else _first_error([next(built) for _ in parts])
            for index in planned
        ]
        if len(parts) > 1:
            joins = [JoinParts(at, item) for item in whole if not isinstance(item, OmniError)]
            joined = iter(self._run(joins, action))
            whole = [item if isinstance(item, OmniError) else next(joined) for item in whole]
        else:
            whole = [item if isinstance(item, OmniError) else item[0] for item in whole]
        for item, made in zip(wanted, whole, strict=True):
            yield (
                made
                if isinstance(made, OmniError)
                else base.table(key).put_index(item.column, item.kind, made)
            )

    def _plan_indexes(
        self, base: WriteBase, at: AttemptTable, wanted: Sequence[WantedIndex], action: str
    ) -> list[PlannedIndex | OmniError]:
        """Return the shared plan of each index's parts; centroids of vector indexes are trained on Spark."""
        table = base.table(at.key)
        planned = [
            table.plan_index(
                item.column,
                item.kind,
                self.count_vectors(base, at.key, item.column) if item.kind is IndexKind.VECTOR else 0,
            )
            for item in wanted
        ]
        vectors = [index for index in planned if index.partitions is not None]
        found = iter(self._run([TrainVectors(at, index) for index in vectors], action))
        return [
            index if index.partitions is None else _set_centroids(index, next(found)) for index in planned
        ]

    def _parts(self, base: WriteBase, key: str) -> list[list[int]]:
        """Return successive fragments in a group for each core; fewer groups where they would be small."""
        sizes = base.table(key).fragment_sizes()
        wanted = max(self._settings.spark_index_rows, -(-sum(sizes.values()) // cores_of(self._spark)), 1)
        groups: list[list[int]] = [[]]
        held = 0
        for number, rows in sizes.items():
            if groups[-1] and held >= wanted:
                groups.append([])
                held = 0
            groups[-1].append(number)
            held += rows
        return groups

    def _run(self, steps: Sequence[Step], action: str) -> list[Any]:
        """Run each step in a task of its own and return the results in order."""
        if not steps:
            return []
        with spark_errors(action):
            tasks = self._spark.range(0, len(steps), 1, len(steps))
            rows = tasks.mapInArrow(MaintenanceTask(steps).__call__, OUTCOME_FIELDS).toArrow()
        numbered = zip(rows["number"].to_pylist(), rows["outcome"].to_pylist(), strict=True)
        return [pickle.loads(outcome) for _, outcome in sorted(numbered)]


def _set_centroids(index: PlannedIndex, found: Any) -> PlannedIndex | OmniError:
    return found if isinstance(found, OmniError) else replace(index, centroids=found)


def _first_error(outcomes: list[Any]) -> Any:
    """Return the outcomes, or the first of them that is an error."""
    return next((item for item in outcomes if isinstance(item, OmniError)), outcomes)


def _raise_first_error(outcomes: list[Any]) -> list[Any]:
    failed = _first_error(outcomes)
    if isinstance(failed, OmniError):
        raise failed
    return outcomes
