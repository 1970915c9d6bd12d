"""The rules of `compare.py` as joins of Spark, for keys that outgrow the driver's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, TableType
from omnigraph.execution.load.keys.key_hashes import column_name, unique_name
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.steps.run import cores_of
from omnigraph.pipeline.workers.keys import HASH, PAIR, StoredTask, unpacked


class JoinedKeys:
    """`Keys` of a load that stay in Spark: the answers of its tasks, on the disks of the executors."""

    def __init__(self, spark: Any, answers: Any, key: int) -> None:
        """Take the answers of the tasks as a data frame that is kept."""
        self._spark, self._answers, self._key = spark, answers, key

    def all_is_right(
        self, catalog: Catalog, mode: Mode, tables: Sequence[TableType], base: WriteBase
    ) -> bool:
        """Say whether no rule between records can be broken; False is only a suspicion."""
        check = _Check(self, catalog, mode, tables, base)
        with spark_errors("checking keys"):
            return all(check.is_right(table) for table in tables)

    def any_is_stored(self, table: TableType, base: WriteBase) -> bool:
        """Say whether an id of the load may be stored already."""
        if base.rely_on(table.table_key).rows == 0:
            return False
        with spark_errors("looking for stored ids"):
            stored = self.stored(table, (), base)
            return _any(stored.join(self.loaded(table, "id"), "hash", "left_semi"))

    def loaded(self, table: TableType, column: str) -> Any:
        """Return the hashes of a column of the load."""
        name = column_name(table.table_key, column)
        return self._answers.filter(self._answers.name == name).mapInArrow(unpacked, HASH)

    def stored(self, table: TableType, group: Sequence[str], base: WriteBase) -> Any:
        """Return the hashes of stored rows: of their ids, and of a group of columns."""
        base.rely_on(table.table_key)
        parts = cores_of(self._spark)
        task = StoredTask(base.pinned(), table, tuple(group), self._key, parts)
        return self._spark.range(0, parts, 1, parts).mapInArrow(task.__call__, PAIR)


class _Check:
    """The rules, one load against one state."""

    def __init__(
        self, keys: JoinedKeys, catalog: Catalog, mode: Mode, tables: Sequence[TableType], base: WriteBase
    ) -> None:
        self._keys, self._catalog, self._mode, self._tables, self._base = keys, catalog, mode, tables, base

    def is_right(self, table: TableType) -> bool:
        """Say whether no rule about a table can be broken."""
        return (
            self._ids_are_new(table)
            and self._tuples_are_unique(table)
            and (self._ends_exist(table) if isinstance(table, EdgeType) else self._edges_keep_ends(table))
            and self._cardinality_holds(table)
        )

    def _ids_are_new(self, table: TableType) -> bool:
        if _has_repeated(self._keys.loaded(table, "id")):
            return False
        return self._mode != "append" or not self._keys.any_is_stored(table, self._base)

    def _tuples_are_unique(self, table: TableType) -> bool:
        for group in table.uniques:
            tuples = self._keys.loaded(table, unique_name(group))
            if _has_repeated(tuples):
                return False
            if self._mode == "overwrite" or self._is_empty(table):
                continue
            stored = self._keys.stored(table, group, self._base)
            kept = stored.join(_as_id(self._keys.loaded(table, "id")), "id", "left_anti")
            if _any(kept.join(tuples, "hash", "left_semi")):
                return False
        return True

    def _ends_exist(self, table: EdgeType) -> bool:
        for column, name in (("src", table.source), ("dst", table.target)):
            node = self._catalog.node(name)
            assert node is not None
            missing = self._keys.loaded(table, column).distinct()
            missing = missing.join(self._keys.loaded(node, "id"), "hash", "left_anti")
            is_replaced = self._mode == "overwrite" and node in self._tables
            if not is_replaced and not self._is_empty(node):
                missing = missing.join(self._keys.stored(node, (), self._base), "hash", "left_anti")
            if _any(missing):
                return False
        return True

    def _edges_keep_ends(self, table: NodeType) -> bool:
        if self._mode != "overwrite" or self._is_empty(table):
            return True
        ids = self._keys.loaded(table, "id")
        return not any(
            _any(self._keys.stored(edge, (column,), self._base).join(ids, "hash", "left_anti"))
            for edge in self._catalog.edges_of(table.name)
            if edge not in self._tables and not self._is_empty(edge)
            for column, node in (("src", edge.source), ("dst", edge.target))
            if node == table.name
        )

    def _cardinality_holds(self, table: TableType) -> bool:
        if not isinstance(table, EdgeType) or table.cardinality.is_default:
            return True
        sources = counted = touched = self._keys.loaded(table, "src")
        if not self._is_empty(table):
            stored = self._keys.stored(table, ("src",), self._base)
            ids = _as_id(self._keys.loaded(table, "id"))
            if self._mode == "overwrite":
                touched = sources.union(stored.select("hash"))
            else:
                touched = sources.union(stored.join(ids, "id", "left_semi").select("hash"))
                counted = sources.union(stored.join(ids, "id", "left_anti").select("hash"))
        source = self._catalog.node(table.source)
        assert source is not None
        if self._mode == "overwrite" and source in self._tables:
            touched = touched.join(self._keys.loaded(source, "id"), "hash", "left_semi")
        counts = counted.groupBy("hash").count()
        final = touched.distinct().join(counts, "hash", "left").fillna(0, ["count"])
        low, high = table.cardinality.low, table.cardinality.high
        wrong = final["count"] < low if high is None else (final["count"] < low) | (final["count"] > high)
        return not _any(final.filter(wrong))

    def _is_empty(self, table: TableType) -> bool:
        return self._base.rely_on(table.table_key).rows == 0


def _has_repeated(hashes: Any) -> bool:
    counts = hashes.groupBy("hash").count()
    return _any(counts.filter(counts["count"] > 1))


def _as_id(hashes: Any) -> Any:
    return hashes.withColumnRenamed("hash", "id")


def _any(rows: Any) -> bool:
    return bool(rows.limit(1).count())
