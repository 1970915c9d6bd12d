"""`Keys` that stay in Spark, for those that outgrow the driver's memory: questions are joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.keys.key_hashes import column_name
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.run import cores_of
from omnigraph.pipeline.workers.keys import HASH, PAIR, StoredTask, unpacked


class JoinedKeys:
    """`Keys` of a load that stay in Spark: the answers of its tasks, on the disks of the executors."""

    def __init__(self, spark: Any, answers: Any, key: int) -> None:
        """Take the answers of the tasks as a data frame that is kept."""
        self._spark, self._answers, self._key = spark, answers, key

    def keys_of_load(self, table: TableType, column: str) -> JoinedSet:
        name = column_name(table.table_key, column)
        return JoinedSet(self._answers.filter(self._answers.name == name).mapInArrow(unpacked, HASH))

    def keys_in_storage(self, base: WriteBase, table: TableType, columns: Sequence[str] = ()) -> JoinedRows:
        if base.rely_on(table.table_key).rows == 0:
            return JoinedRows(self._spark.createDataFrame([], PAIR), is_empty=True)
        parts = cores_of(self._spark)
        task = StoredTask(base.pinned(), table, tuple(columns), self._key, parts)
        return JoinedRows(self._spark.range(0, parts, 1, parts).mapInArrow(task.__call__, PAIR))


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
    """Whether it is known that there are none; Spark need not look for them then."""

    def with_ids(self, ids: JoinedSet) -> JoinedRows:
        return JoinedRows(self._joined(ids, "left_semi"), self.is_empty)

    def without_ids(self, ids: JoinedSet) -> JoinedRows:
        return JoinedRows(self._joined(ids, "left_anti"), self.is_empty)

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

    def _joined(self, ids: JoinedSet, how: str) -> Any:
        return self.rows.join(ids.rows.withColumnRenamed("hash", "id"), "id", how)
