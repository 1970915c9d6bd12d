"""`Keys` that stay in Spark because they do not fit in the driver's memory: look-ups are joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.keys.key_hashes import column_name
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.run import cores_of
from omnigraph.pipeline.workers.keys import HASH_FIELDS, PAIR_FIELDS, StoredTask, unpack_hashes


class JoinedKeys:
    """`Keys` of a load that stay in Spark: the answers of its tasks, persisted on the executors' disks."""

    def __init__(self, spark: Any, answers: Any, key: int) -> None:
        """Use the answers of the tasks, a persisted data frame."""
        self._spark, self._answers, self._key = spark, answers, key

    def keys_of_load(self, table: TableType, column: str) -> JoinedSet:
        name = column_name(table.table_key, column)
        return JoinedSet(
            self._answers.filter(self._answers.name == name).mapInArrow(unpack_hashes, HASH_FIELDS)
        )

    def keys_in_storage(self, base: WriteBase, table: TableType, columns: Sequence[str] = ()) -> JoinedRows:
        if base.rely_on(table.table_key).rows == 0:
            return JoinedRows(self._spark.createDataFrame([], PAIR_FIELDS), is_empty=True)
        parts = cores_of(self._spark)
        task = StoredTask(base.view_pinned(), table, tuple(columns), self._key, parts)
        return JoinedRows(self._spark.range(0, parts, 1, parts).mapInArrow(task.__call__, PAIR_FIELDS))


@dataclass(frozen=True, slots=True)
class JoinedSet:
    """`KeySet`: a column of hashes."""

    rows: Any

    def is_empty(self) -> bool:
        with spark_errors("checking keys"):
            return not self.rows.limit(1).count()

    def has_repeats(self) -> bool:
        return not self.occur_between(0, 1)

    def occur_between(self, low: int, high: int | None) -> bool:
        counts = self.rows.groupBy("hash").count()
        wrong = counts["count"] < low
        return JoinedSet(
            counts.filter(wrong if high is None else wrong | (counts["count"] > high))
        ).is_empty()

    def plus(self, other: JoinedSet) -> JoinedSet:
        return JoinedSet(self.rows.union(other.rows))

    def outside(self, other: JoinedSet) -> JoinedSet:
        return JoinedSet(self.rows.join(other.rows, "hash", "left_anti"))

    def within(self, other: JoinedSet) -> JoinedSet:
        return JoinedSet(self.rows.join(other.rows, "hash", "left_semi"))


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """`StoredKeys`: a column of ids beside one of hashes."""

    rows: Any
    is_empty: bool = False
    """Whether it is known to be empty, so that Spark need not be asked."""

    def with_ids(self, ids: JoinedSet) -> JoinedRows:
        return JoinedRows(self._join_ids(ids, "left_semi"), self.is_empty)

    def without_ids(self, ids: JoinedSet) -> JoinedRows:
        return JoinedRows(self._join_ids(ids, "left_anti"), self.is_empty)

    def any_within(self, keys: JoinedSet) -> bool:
        return not self.is_empty and not self.within(keys).is_empty()

    def any_outside(self, keys: JoinedSet) -> bool:
        return not self.is_empty and not self.outside(keys).is_empty()

    def within(self, keys: JoinedSet) -> JoinedSet:
        return self._hashes().within(keys)

    def outside(self, keys: JoinedSet) -> JoinedSet:
        return self._hashes().outside(keys)

    def missing(self, keys: JoinedSet) -> JoinedSet:
        return keys if self.is_empty else keys.outside(self._hashes())

    def _hashes(self) -> JoinedSet:
        return JoinedSet(self.rows.select("hash"))

    def _join_ids(self, ids: JoinedSet, how: str) -> Any:
        return self.rows.join(ids.rows.withColumnRenamed("hash", "id"), "id", how)
