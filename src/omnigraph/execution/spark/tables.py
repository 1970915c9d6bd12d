"""The pinned tables of a snapshot as data frames, read by tasks, with search results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.pattern import Direction
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import STRING
from omnigraph.execution.local.frame import Frame as Positioned
from omnigraph.execution.local.frame import Positions
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.spark.attributes import Attributes, StoredColumn, has_search, id_column
from omnigraph.execution.spark.encoding import sql_type
from omnigraph.execution.spark.tasks import FilterTask, ScanTask
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.rows.scan_with_blobs import parts_of

NEAR, FAR = "near", "far"
"""The columns of a pair of nodes."""
_ROWS_PER_TASK = 250_000
_MAX_BROADCAST_ROWS = 100_000
"""The most rows of a table that is broadcast to every worker."""


@dataclass
class Tables:
    """Data frames for the variables of a query."""

    spark: Any
    snapshot: Snapshot
    query: ReadQuery
    attributes: Attributes
    values: Values
    best: Mapping[int, Positions]
    """The nodes that a ranking chose, by variable."""
    _rows: dict[str, int] = field(default_factory=dict)
    _is_large: bool = False

    def __post_init__(self) -> None:
        self._rows = {item.key: item.rows for item in self.snapshot.tables}
        self._is_large = any(
            self._rows.get(f"{item.kind.value}:{item.type_name}", 0) > _MAX_BROADCAST_ROWS
            for item in self.query.variables
        )

    def variable(self, slot: int, filters: Sequence[Condition] = (), ends: bool = False) -> Any:
        """Return the rows of a variable: id, carried values and, with `ends`, the ends of an edge."""
        key = self._key(slot)
        columns = [StoredColumn("id", id_column(slot), STRING), *self.attributes.of(slot)]
        if ends:
            columns += [StoredColumn("src", NEAR, STRING), StoredColumn("dst", FAR, STRING)]
        inside = [item for item in filters if not has_search(item)]
        frame = self._scan(key, columns, inside)
        searched = self._read_searches(slot)
        if searched is not None:
            how = "inner" if slot in self.best else "left"
            frame = frame.join(F.broadcast(searched), id_column(slot), how)
        for condition in filters:
            if has_search(condition):
                frame = filter_frame(frame, condition, self.attributes)
        return self._small(key, frame)

    def needs_table(self, slot: int, filters: Sequence[Condition]) -> bool:
        """Return whether more than the id of a node is needed; the end of an edge always exists."""
        return bool(filters) or slot in self.best or len(self.attributes.columns(slot)) > 1

    def pairs(self, edge_type: str, direction: Direction) -> Any:
        """Return the distinct pairs of nodes that an edge type relates."""
        columns = [StoredColumn("src", NEAR, STRING), StoredColumn("dst", FAR, STRING)]
        return turn_edges(self._scan(f"edge:{edge_type}", columns, ()), direction, each=False).distinct()

    def edges(self, slot: int, direction: Direction) -> Any:
        """Return the edges of a variable with their ends; in both directions, each edge from both ends."""
        return turn_edges(self.variable(slot, ends=True), direction, each=True)

    def _scan(self, key: str, columns: Sequence[StoredColumn], filters: Sequence[Condition]) -> Any:
        parts = parts_of(self.snapshot.table(key), _ROWS_PER_TASK)
        task = ScanTask(self.snapshot.namespace, key, parts, tuple(columns), tuple(filters))
        schema = ", ".join(f"{item.column} {sql_type(item.type)}" for item in columns)
        return self.spark.range(0, len(parts), 1, len(parts)).mapInArrow(task.__call__, schema)

    def _read_searches(self, slot: int) -> Any:
        """Return the search results of a variable, computed on the driver; None without searches."""
        searches = self.attributes.searches.get(slot, {})
        if not searches and slot not in self.best:
            return None
        view = self.values.view(slot)
        nodes = self.best.get(slot, view.positions)
        rows = Positioned(len(nodes), {slot: nodes})
        columns = {id_column(slot): view.take("id", nodes, False)}
        columns |= {name: self.values.array(value, rows) for value, name in searches.items()}
        types = {name: sql_type(value.type) for value, name in searches.items()}
        schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in columns)
        return self.spark.createDataFrame(pa.table(columns), schema)

    def _small(self, key: str, frame: Any) -> Any:
        # If all tables are small, joining in one task is faster than broadcasting.
        return (
            F.broadcast(frame) if self._is_large and self._rows.get(key, 0) <= _MAX_BROADCAST_ROWS else frame
        )

    def _key(self, slot: int) -> str:
        variable = self.query.variables[slot]
        return f"{variable.kind.value}:{variable.type_name}"


def turn_edges(edges: Any, direction: Direction, each: bool) -> Any:
    """Return edges from near to far in a direction; a loop counts once."""
    if direction is Direction.FORWARD:
        return edges
    turned = edges.select(
        F.col(FAR).alias(NEAR),
        F.col(NEAR).alias(FAR),
        *(F.col(name) for name in edges.columns if name not in (NEAR, FAR)),
    )
    if direction is Direction.BACKWARD:
        return turned
    if each:
        turned = turned.filter(F.col(NEAR) != F.col(FAR))
    return edges.unionByName(turned)


def filter_frame(frame: Any, condition: Condition, attributes: Attributes) -> Any:
    """Return the rows for which a condition is true."""
    return frame.mapInArrow(FilterTask(condition, attributes).__call__, frame.schema)
