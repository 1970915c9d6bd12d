"""Whether stored rows satisfy rules that a schema change adds: the same rules that check new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from omnigraph.base.errors import SchemaChangeUnsupported
from omnigraph.compiler.catalog.migration.steps import AddConstraint, RequireProperty
from omnigraph.compiler.catalog.model import Catalog, EdgeType, Scalar, TableType
from omnigraph.graph.columns import arrow_type
from omnigraph.graph.schema_apply.columns import filler
from omnigraph.graph.write.base import WriteBase
from omnigraph.graph.write.integrity.cardinality import check_cardinality
from omnigraph.graph.write.integrity.delta import TableDelta, nowhere
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import StoredRows
from omnigraph.graph.write.integrity.uniqueness import check_uniques
from omnigraph.graph.write.integrity.values import check_values

Validated = AddConstraint | RequireProperty


def check_stored(
    target: Catalog, new: TableType, old: TableType, steps: Sequence[Validated], base: WriteBase
) -> None:
    """Refuse the change when stored rows break a rule that it adds; the code says which kind of rule."""
    if not steps or base.rely_on(old.table_key).rows == 0:
        return
    rows = _rows_as_they_will_be(new, old, base)
    problems = Problems()
    problems.add(check_values(new, rows, nowhere))
    delta = TableDelta(new, rows, replaces=True)
    problems.add(check_uniques(delta, StoredRows(base)))
    if isinstance(new, EdgeType):
        problems.add(check_cardinality(_only(target, new), {new.table_key: delta}, _Nothing(rows)))
    if problems.total:
        code = steps[0].validation_code
        first = str(problems.found[0])
        more = f" and {problems.total - 1} more" if problems.total > 1 else ""
        raise SchemaChangeUnsupported(
            f"[{code}] stored rows of {new.name} do not satisfy the new schema: {first}{more}",
            migration_code=str(code),
            problems=[problem.to_json() for problem in problems.found],
            total=problems.total,
        )


def _rows_as_they_will_be(new: TableType, old: TableType, base: WriteBase) -> pa.Table:
    """Return the stored rows under their new names, with what properties that come anew will hold."""
    names = {item.id: item.name for item in old.properties}
    seen = [item for item in new.properties if item.type.scalar is not Scalar.BLOB]
    kept = [item for item in seen if item.id in names]
    fixed = ["id"] if new.kind == "node" else ["id", "src", "dst"]
    rows = base.table(old.table_key).scan([*fixed, *(names[item.id] for item in kept)])
    rows = rows.rename_columns([*fixed, *(item.name for item in kept)])
    for item in seen:
        if item.id not in names:
            count = rows.num_rows
            values = pa.nulls(count, arrow_type(item.type)) if item.default is None else filler(item)(count)
            rows = rows.append_column(item.name, values)
    return rows


def _only(catalog: Catalog, edge: EdgeType) -> Catalog:
    return replace(catalog, edges=(edge,))


class _Nothing:
    """`Stored` for a table that is looked at as a whole: all its rows are in the delta already."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return none."""
        return pa.array([], pa.string())

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return none."""
        return self._rows.slice(0, 0).select(list(columns))

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return none."""
        return self._rows.slice(0, 0).select(list(columns))
