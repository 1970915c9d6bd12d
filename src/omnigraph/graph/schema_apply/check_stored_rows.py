"""Whether stored rows satisfy rules that a schema change adds: the same rules that check new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from omnigraph.base.errors import SchemaChangeUnsupported
from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.migration.steps import AddConstraint, RequireProperty
from omnigraph.compiler.catalog.model import Catalog, EdgeType, TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.model.columns import arrow_type
from omnigraph.graph.model.key_ids import ids_of_rows
from omnigraph.graph.schema_apply.columns import filler
from omnigraph.graph.write.integrity.cardinality import check_cardinality
from omnigraph.graph.write.integrity.delta import Place, TableDelta
from omnigraph.graph.write.integrity.places import RowPlace
from omnigraph.graph.write.integrity.problems import Problem, Problems
from omnigraph.graph.write.integrity.stored import BranchRows, NothingStored
from omnigraph.graph.write.integrity.uniqueness import check_uniques, find_repeated
from omnigraph.graph.write.integrity.values import check_values
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.filters import NullColumn

Validated = AddConstraint | RequireProperty

_CODES = {
    "required": MigrationCode.NULL_TIGHTENING,
    "unique": MigrationCode.ADD_UNIQUE,
    "key": MigrationCode.ADD_KEY,
    "range": MigrationCode.ADD_RANGE,
    "check": MigrationCode.ADD_CHECK,
    "card": MigrationCode.ADD_CARDINALITY,
}
"""By rule: the code of the change that stored rows stand in the way of."""


def check_stored(
    target: Catalog, new: TableType, old: TableType, steps: Sequence[Validated], base: WriteBase
) -> None:
    """Refuse the change when stored rows break a rule that it adds; the code says which kind of rule."""
    if not steps or base.rely_on(old.table_key).rows == 0:
        return
    rows = _rows_as_they_will_be(new, old, base)
    ids = rows["id"]

    def place(row: int) -> str:
        return RowPlace("", new.kind, ids[row].as_py())

    problems = Problems()
    problems.add(_missing_blobs(new, old, steps, base))
    problems.add(check_values(new, rows, place))
    delta = TableDelta(new, rows, replaces=True, place=place)
    problems.add(check_uniques(delta, BranchRows(base)))
    if new.key and not old.key:
        problems.add(_find_repeated_keys(new, rows, place))
    if isinstance(new, EdgeType):
        deltas = {new.table_key: delta}
        problems.add(check_cardinality(_only(target, new), deltas, NothingStored(deltas)))
    if problems.total:
        code = _CODES.get(problems.found[0].rule, steps[0].validation_code)
        first = str(problems.found[0])
        more = f" and {problems.total - 1} more" if problems.total > 1 else ""
        raise SchemaChangeUnsupported(
            f"[{code}] stored rows of {new.name} do not satisfy the new schema: {first}{more}",
            migration_code=str(code),
            problems=[problem.to_json() for problem in problems.found],
            total=problems.total,
        )


def _find_repeated_keys(new: TableType, rows: pa.Table, place: Place) -> Iterator[Problem]:
    """Yield the edges whose key an earlier one has."""
    assert new.key is not None
    for problem in find_repeated(new, new.key, ids_of_rows(new, rows), place):
        yield replace(problem, rule="key")


def _missing_blobs(
    new: TableType, old: TableType, steps: Sequence[Validated], base: WriteBase
) -> Iterator[Problem]:
    """Yield the rows without a blob that becomes required; blobs are not read, only asked for."""
    required = {step.property_name for step in steps if isinstance(step, RequireProperty)}
    names = {item.id: item.name for item in old.properties}
    for item in new.properties:
        if item.type.scalar is Scalar.BLOB and item.name in required:
            for id_ in base.table(old.table_key).scan(["id"], NullColumn(names[item.id]))["id"].to_pylist():
                message = f"{new.name}.{item.name} is required and has null or invalid values"
                yield Problem("required", new.name, message, item.name, None, RowPlace("", new.kind, id_))


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
