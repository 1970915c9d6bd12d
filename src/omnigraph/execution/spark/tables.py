"""The pinned tables of a snapshot as data frames, read by tasks, with search results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property
from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.pattern import Direction
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import STRING
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.frame import Frame as Positioned
from omnigraph.execution.local.frame import Positions
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.per_type import owners_of, rewrite, stored_property
from omnigraph.execution.spark.attributes import (
    TYPE_COLUMN,
    Attributes,
    StoredColumn,
    ValueColumns,
    has_search,
    id_column,
    looks_elsewhere,
)
from omnigraph.execution.spark.encoding import sql_type
from omnigraph.execution.spark.tasks import FilterTask, ScanTask
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.rows.scan_with_blobs import parts_of

NEAR, FAR = "near", "far"
"""The columns of a pair of nodes."""
FIXED_COLUMNS = frozenset({"id", "src", "dst"})
"""The columns of a table that are not properties."""
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
    budget: QueryBudget
    """The limits of what the driver does."""
    _rows: dict[str, int] = field(default_factory=dict)
    _is_large: bool = False

    def __post_init__(self) -> None:
        self._rows = {item.key: item.rows for item in self.snapshot.tables}
        self._is_large = any(
            self._rows.get(f"{item.kind.value}:{name}", 0) > _MAX_BROADCAST_ROWS
            for item in self.query.variables
            for name in item.types
        )

    def variable(self, slot: int, filters: Sequence[Condition] = (), ends: bool = False) -> Any:
        """Return the rows of a variable: id, carried values and, with `ends`, the ends of an edge."""
        owners = owners_of(self.query.variables[slot], self.snapshot.catalog)
        inside = [item for item in filters if not has_search(item)]
        frames = [self.of_type(slot, owner, inside, ends) for owner in owners]
        frame = reduce(lambda one, other: one.unionByName(other), frames)
        searched = self._read_searches(slot)
        if searched is not None:
            how = "inner" if slot in self.best else "left"
            frame = frame.join(F.broadcast(searched), id_column(slot), how)
        for condition in filters:
            if has_search(condition):
                frame = filter_frame(frame, condition, self.attributes)
        return self._small([owner.table_key for owner in owners], frame)

    def of_type(
        self, slot: int, owner: NodeType | EdgeType, filters: Sequence[Condition] = (), ends: bool = False
    ) -> Any:
        """Return the rows of one type of a variable, as `variable` does for all of them."""
        columns = [StoredColumn("id", id_column(slot), STRING)]
        absent: dict[str, Any] = {}
        for item in self.attributes.of(slot):
            name = _stored_name(owner, item)
            if item.stored == TYPE_COLUMN:
                absent[item.column] = F.lit(owner.name)
            elif name is None:
                absent[item.column] = F.lit(None).cast(sql_type(item.type))
            else:
                columns.append(replace(item, stored=name))
        if ends:
            columns += [StoredColumn("src", NEAR, STRING), StoredColumn("dst", FAR, STRING)]
        frame = self._scan(owner.table_key, columns, [rewrite(item, slot, owner) for item in filters])
        if self.query.variables[slot].more_types:
            absent[id_column(slot)] = key_of(owner.name, id_column(slot))
        return frame.withColumns(absent) if absent else frame

    def keys(self, edge: EdgeType, slot: int | None) -> Any:
        """Return the ends of an edge type as keys, which are `Type:id`, with what a variable needs of it."""
        if slot is None:
            columns = [StoredColumn("src", NEAR, STRING), StoredColumn("dst", FAR, STRING)]
            frame = self._scan(edge.table_key, columns, ())
        else:
            frame = self.of_type(slot, edge, ends=True)
        return frame.withColumns({NEAR: key_of(edge.source, NEAR), FAR: key_of(edge.target, FAR)})

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
        # What looks at other variables is computed with them, from the position of the text.
        far = {name for value, name in searches.items() if looks_elsewhere(value)}
        columns |= {
            name: pa.array(nodes) if name in far else self.values.array(value, rows)
            for value, name in searches.items()
        }
        types = {name: "bigint" if name in far else sql_type(value.type) for value, name in searches.items()}
        schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in columns)
        return self.spark.createDataFrame(pa.table(columns), schema)

    def _small(self, keys: Sequence[str], frame: Any) -> Any:
        # If all tables are small, joining in one task is faster than broadcasting.
        small = sum(self._rows.get(key, 0) for key in keys) <= _MAX_BROADCAST_ROWS
        return F.broadcast(frame) if self._is_large and small else frame


def key_of(type_name: str, column: str) -> Any:
    """Return what tells the nodes of several types apart, as `Type:id`."""
    return F.concat(F.lit(f"{type_name}:"), F.col(column))


def _stored_name(owner: NodeType | EdgeType, item: StoredColumn) -> str | None:
    """Return the column of a type that a variable over several calls so; None if it has none such."""
    if item.stored in FIXED_COLUMNS:
        return item.stored
    found = stored_property(owner, Property(0, item.stored, item.type))
    return None if found is None else found.name


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


def filter_frame(frame: Any, condition: Condition, attributes: ValueColumns) -> Any:
    """Return the rows for which a condition is true."""
    return frame.mapInArrow(FilterTask(condition, attributes).__call__, frame.schema)
