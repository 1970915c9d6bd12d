"""What a planner knows about the data: the numbers of the commit record, and what the schema implies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.compiler.catalog.model import Catalog, EdgeType, Property, TableType
from omnigraph.compiler.ir.pattern import Direction, Traverse, Variable, Way
from omnigraph.compiler.types import Scalar
from omnigraph.execution.plan import access

_VALUES_PER_COLUMN = 100.0
"""The assumed number of distinct values of a column without statistics."""


@dataclass(frozen=True)
class Statistics:
    """Rows by table key, and the schema."""

    catalog: Catalog
    rows: Mapping[str, int]
    values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The estimated number of distinct values of columns when their table was last optimized."""

    def table_rows(self, variable: Variable) -> float:
        """Return the rows of the tables that a variable ranges over."""
        return float(sum(self.rows.get(f"{variable.kind.value}:{name}", 0) for name in variable.types))

    def distinct(self, variable: Variable, declared: Property) -> float:
        """Return the estimated number of distinct values of a property."""
        return sum(self._distinct(f"{variable.kind.value}:{name}", declared) for name in variable.types)

    def _distinct(self, key: str, declared: Property) -> float:
        rows = max(float(self.rows.get(key, 0)), 1.0)
        table = self.catalog.table(key)
        if table is not None and is_unique(table, declared.name):
            return rows
        if declared.type.enum:
            return min(rows, float(len(declared.type.enum)))
        if declared.type.scalar is Scalar.BOOL:
            return min(rows, 2.0)
        counted = self.values.get(key, {}).get(declared.name)
        if counted is not None:
            return min(rows, max(float(counted), 1.0))
        return min(rows, max(_VALUES_PER_COLUMN, rows / 100))

    def degree(self, step: Traverse, reverse: bool) -> float:
        """Return the estimated number of far ends of a node over one hop."""
        return sum(self._degree(way, reverse) for way in step.ways)

    def _degree(self, way: Way, reverse: bool) -> float:
        edge = self.catalog.edge(way.edge_type)
        if edge is None:
            return 0.0
        edges = float(self.rows.get(edge.table_key, 0))
        sources = max(float(self.rows.get(f"node:{edge.source}", 0)), 1.0)
        targets = max(float(self.rows.get(f"node:{edge.target}", 0)), 1.0)
        if way.direction is Direction.BOTH:
            return 2 * edges / sources
        return edges / (targets if reverse != (way.direction is Direction.BACKWARD) else sources)

    def reach(self, step: Traverse, reverse: bool) -> float:
        """Return the estimated number of far ends of a node over all hops of a traversal."""
        edges = self._edges(step)
        one = self.degree(step, reverse)
        ends = {edge.source if reverse else edge.target for edge in edges}
        total = sum(min(one**hop, 1e18) for hop in range(step.low, min(step.high, step.low + 20) + 1))
        return min(total, float(sum(self.rows.get(f"node:{name}", 0) for name in ends)))

    def meeting(self, step: Traverse) -> float:
        """Return the estimated number of nodes that a search for one path visits from both ends."""
        half = (min(step.high, 20) + 1) // 2
        seen = sum(
            self.degree(step, reverse) ** hop for reverse in (False, True) for hop in range(1, half + 1)
        )
        sources = {edge.source for edge in self._edges(step)}
        return min(seen, 2.0 * sum(self.rows.get(f"node:{name}", 0) for name in sources))

    def _edges(self, step: Traverse) -> list[EdgeType]:
        found = (self.catalog.edge(way.edge_type) for way in step.ways)
        return [edge for edge in found if edge is not None]

    def signature(self) -> tuple[int, ...]:
        """Return how large all tables are, and the bit lengths of all statistics.

        Steps are ordered again, and their paths chosen again, when these change.
        """
        return self._signature

    @cached_property
    def _signature(self) -> tuple[int, ...]:
        values = (counts[name] for _, counts in sorted(self.values.items()) for name in sorted(counts))
        rows = [self.rows[key] for key in sorted(self.rows)]
        sizes = ((count >= access.LARGE_TABLE_ROWS) + (count >= access.MANY_ROWS) for count in rows)
        return (*sizes, *(number.bit_length() for numbers in (rows, values) for number in numbers))


def is_unique(table: TableType, name: str) -> bool:
    """Return whether a property alone is unique in a table."""
    return table.key == (name,) or (name,) in table.uniques
