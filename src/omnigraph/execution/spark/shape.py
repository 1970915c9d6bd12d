"""From assignments to result columns on Spark: groups, distinct rows, order, skip and limit.

Columns are encoded so that Spark groups and sorts them as the local engine does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyspark.sql import functions as F

from omnigraph.compiler.ir.queries import Output, Projection, ReadQuery, SortKey
from omnigraph.compiler.ir.values import (
    STRING,
    Aggregate,
    AggregateFunction,
    Computed,
    Constant,
    GroupValue,
    Value,
)
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.plan.used_variables import counts_rows, ignores_duplicates
from omnigraph.execution.spark.attributes import (
    WEIGHT_COLUMN,
    Attributes,
    Search,
    ValueColumns,
    id_column,
    looks_elsewhere,
)
from omnigraph.execution.spark.encoding import sql_type
from omnigraph.execution.spark.match import Assignments
from omnigraph.execution.spark.tables import filter_frame
from omnigraph.execution.spark.tasks import ComputeTask, MeanTask, SumTask

_TOTAL_TYPE = "decimal(38,0)"


def shape_result(query: ReadQuery, attributes: Attributes, frame: Assignments, is_stage: bool = False) -> Any:
    """Return a data frame with a column for each projection, named by `output`.

    Spark may compute a stage more than once, so that a page of it needs an order.
    """
    rows = frame.data
    weighed = frame.weighed and query.grouped and all(map(_takes_weights, query.projections))
    if frame.weighed and not weighed and (query.grouped or not query.distinct):
        each = F.explode(F.sequence(F.lit(1).cast("bigint"), F.col(WEIGHT_COLUMN)))
        rows = rows.withColumn(WEIGHT_COLUMN, each)
    rows, computed = _compute_values(query, attributes, rows)
    if query.ranking is not None:
        rows = rows.filter(_column(query.ranking.score, attributes, computed).isNotNull())
    columns = [_column(_argument(item.value), attributes, computed).alias(output(at))
               for at, item in enumerate(query.projections) if not item.on_groups]  # fmt: skip
    order = (*query.order, *query.ties) if query.order else ()
    keys = [
        _column(key.value, attributes, computed).alias(_key(at))
        for at, key in enumerate(order)
        if not isinstance(key.value, Output)
    ]
    rows = rows.select(*columns, *keys, *([WEIGHT_COLUMN] if weighed else []))
    if query.grouped:
        rows = _aggregate_groups(query, rows, F.col(WEIGHT_COLUMN) if weighed else None)
        rows = _compute_on_groups(query, rows)
    if query.distinct:
        shown = [at for at, item in enumerate(query.projections) if not (item.shadowed or item.hidden)]
        rows = rows.dropDuplicates([output(at) for at in shown])
    if order:
        rows = rows.orderBy(*(_sort_column(key, at) for at, key in enumerate(order)))
    skip, limit = _count(query.skip), _count(query.limit)
    if is_stage and not order and (skip or limit is not None):
        rows = rows.orderBy(*rows.columns)
    if skip:
        rows = rows.offset(skip)
    if limit is not None:
        rows = rows.limit(limit)
    return rows


def name_columns(query: ReadQuery, read: ReadQuery, rows: Any) -> Any:
    """Return the rows of a read before a query in the columns of the variables that hold them."""
    assert query.source is not None
    last = {item.name: at for at, item in enumerate(read.projections) if not item.hidden}
    held = zip(read.columns, query.source.variables, strict=True)
    return rows.select(
        *(
            F.col(output(last[column.name]))
            .cast(sql_type(query.variables[slot].value_type or STRING))
            .alias(id_column(slot))
            for column, slot in held
        )
    )


def output(projection: int) -> str:
    """Return the column of a projection."""
    return f"p{projection}"


def _key(at: int) -> str:
    return f"k{at}"


def _sort_column(key: SortKey, at: int) -> Any:
    column = F.col(output(key.value.projection) if isinstance(key.value, Output) else _key(at))
    return column.desc_nulls_last() if key.descending else column.asc_nulls_first()


def _argument(value: Value | Aggregate) -> Value:
    if not isinstance(value, Aggregate):
        return value
    return Constant(1, value.type) if counts_rows(value) else value.argument


def _column(value: Value, attributes: ValueColumns, computed: Mapping[Value, str]) -> Any:
    if value in computed:
        return F.col(computed[value])
    return _literal(value) if isinstance(value, Constant) else F.col(attributes.column(value))


def _compute_values(query: ReadQuery, attributes: Attributes, rows: Any) -> tuple[Any, Mapping[Value, str]]:
    """Return the rows with a column for each computed value of the result, and the names of those."""
    wanted = [_argument(item.value) for item in query.projections if not item.on_groups]
    wanted += [key.value for key in (*query.order, *query.ties) if not isinstance(key.value, Output)]
    wanted += [] if query.ranking is None else [query.ranking.score]
    values = list(dict.fromkeys(filter(_is_computed, wanted)))
    if not values:
        return rows, {}
    names = {value: f"c{at}" for at, value in enumerate(values)}
    return _add_columns(rows, names, attributes), names


def _is_computed(value: Value) -> bool:
    return isinstance(value, Computed) or (isinstance(value, Search) and looks_elsewhere(value))


def _add_columns(rows: Any, names: Mapping[Value, str], attributes: ValueColumns) -> Any:
    """Return the rows with a column for each computed value."""
    added = [f"{name} {sql_type(value.type)}" for value, name in names.items()]
    schema = ", ".join([*(f"{item.name} {item.dataType.simpleString()}" for item in rows.schema), *added])
    task = ComputeTask(tuple(names), tuple(names.values()), attributes)
    return rows.mapInArrow(task.__call__, schema)


@dataclass(frozen=True)
class GroupAttributes:
    """Which column holds a value of a group."""

    def column(self, value: Value) -> str:
        """Return the column of a projection."""
        assert isinstance(value, GroupValue), "groups have only their columns"
        return output(value.projection)


def _compute_on_groups(query: ReadQuery, rows: Any) -> Any:
    """Return the groups that `having` keeps, with what is computed from their columns."""
    known = GroupAttributes()
    for at, item in enumerate(query.projections):
        if item.on_groups and not isinstance(item.value, Aggregate | Computed):
            rows = rows.withColumn(output(at), _column(item.value, known, {}))
    computed = [(at, item.value) for at, item in enumerate(query.projections) if item.on_groups]
    names: dict[Value, str] = {}
    for at, value in computed:
        if isinstance(value, Computed):
            names.setdefault(value, output(at))
    rows = _add_columns(rows, names, known) if names else rows
    for at, value in computed:
        if isinstance(value, Computed) and names[value] != output(at):
            rows = rows.withColumn(output(at), F.col(names[value]))
    return rows if query.having is None else filter_frame(rows, query.having, known)


def _literal(constant: Constant) -> Any:
    kind = sql_type(constant.type)
    if isinstance(constant.value, tuple):
        return F.array(*(F.lit(_plain(item)) for item in constant.value)).cast(kind)
    return F.lit(_plain(constant.value)).cast(kind)


def _plain(value: Any) -> Any:
    wide = isinstance(value, int) and not isinstance(value, bool) and value >= 2**63
    return Decimal(value) if wide else value


def _takes_weights(item: Projection) -> bool:
    """Return whether a column can be computed from rows with weights."""
    if not isinstance(item.value, Aggregate) or ignores_duplicates(item.value):
        return True
    return item.value.function is not AggregateFunction.COLLECT and not _is_listed(item.value)


def _aggregate_groups(query: ReadQuery, rows: Any, weight: Any) -> Any:
    keys, found = [], []
    sums: dict[str, bool] = {}
    means: dict[str, str] = {}
    for at, item in enumerate(query.projections):
        name = output(at)
        if item.on_groups:
            continue
        if isinstance(item.value, Aggregate):
            found.append(_aggregate(item.value, F.col(name), weight).alias(name))
            if _is_listed(item.value):
                sums[name] = item.value.function is AggregateFunction.AVG
            elif item.value.function is AggregateFunction.AVG:
                means[name] = f"{name}_n"
                found.append(_count_of(item.value, F.col(name), weight).alias(means[name]))
        else:
            keys.append(name)
    names = [output(at) for at, item in enumerate(query.projections) if not item.on_groups]
    grouped = rows.groupBy(*keys).agg(*found) if found else rows.distinct()
    rows = grouped.select(*names, *means.values())
    if means:
        rows = rows.mapInArrow(MeanTask(means).__call__, _schema_with(rows, "double", means, means.values()))
    if not sums:
        return rows
    return rows.mapInArrow(SumTask(sums).__call__, _schema_with(rows, "double", sums))


def _is_listed(node: Aggregate) -> bool:
    """Return whether an aggregate collects its numbers first: sums of floats are rounded once."""
    sums = node.function in (AggregateFunction.SUM, AggregateFunction.AVG)
    return sums and not _is_whole(node.argument.type)


def _is_whole(type_: PropertyType) -> bool:
    return type_.scalar in (Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64)


def _aggregate(node: Aggregate, column: Any, weight: Any) -> Any:
    match node.function:
        case AggregateFunction.COUNT:
            return F.count_distinct(column) if node.distinct else _count_rows(column, weight)
        case AggregateFunction.MIN:
            return F.min(column)
        case AggregateFunction.MAX:
            return F.max(column)
        case AggregateFunction.COLLECT:
            return F.sort_array(F.collect_set(column) if node.distinct else F.collect_list(column))
    if _is_listed(node):
        wide = column.cast("double")
        return F.collect_set(wide) if node.distinct else F.collect_list(wide)
    wide = column.cast(_TOTAL_TYPE)
    each = wide if weight is None else (wide * weight.cast("decimal(20,0)")).cast(_TOTAL_TYPE)
    total = F.sum_distinct(wide) if node.distinct else F.sum(each)
    return total.cast("double") if node.function is AggregateFunction.SUM else total.cast(_TOTAL_TYPE)


def _count_of(node: Aggregate, column: Any, weight: Any) -> Any:
    return F.count_distinct(column) if node.distinct else _count_rows(column, weight)


def _schema_with(rows: Any, kind: str, changed: Collection[str], dropped: Collection[str] = ()) -> str:
    """Return the schema of a frame with other types for some columns, without others."""
    kept = (item for item in rows.schema if item.name not in dropped)
    types = ((item.name, kind if item.name in changed else item.dataType.simpleString()) for item in kept)
    return ", ".join(f"{name} {type_}" for name, type_ in types)


def _count_rows(column: Any, weight: Any) -> Any:
    if weight is None:
        return F.count(column)
    return F.coalesce(F.sum(F.when(column.isNotNull(), weight)), F.lit(0))


def _count(node: object) -> int | None:
    return node.value if isinstance(node, Constant) and isinstance(node.value, int) else None
