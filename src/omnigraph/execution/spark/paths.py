"""Paths on Spark: the driver searches, as the local engine does, from the nodes of the rows it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir.pattern import Traverse, Variable
from omnigraph.compiler.ir.values import I64, EntityId, EntityKey, PathPart, PathValue
from omnigraph.compiler.types import PropertyType
from omnigraph.execution.local.cache.united_tables import UnitedTables
from omnigraph.execution.local.frame import NULL, Positions
from omnigraph.execution.local.steps.expand_paths import PathWalk
from omnigraph.execution.spark.attributes import id_column
from omnigraph.execution.spark.encoding import sql_type
from omnigraph.execution.spark.hops import HOP_COLUMN
from omnigraph.execution.spark.tables import FAR, NEAR, Tables


def search_paths(tables: Tables, step: Traverse, pairs: Any, reverse: bool) -> Any:
    """Return (near, far, hop) and the columns of the path variable for all paths from the nodes of `pairs`.

    These are (near) or (near, far); with both, only paths between them have to be found.
    """
    assert step.path is not None
    given = pairs.distinct().toArrow()
    slots = (step.target, step.source) if reverse else (step.source, step.target)
    near, far = (tables.query.variables[slot] for slot in slots)
    ends = None
    if FAR in given.column_names:
        ends = _find_nodes(tables.values.united_tables(far.slot), far, given[FAR].combine_chunks())
    starts = _find_nodes(tables.values.united_tables(near.slot), near, given[NEAR].combine_chunks())
    walk = PathWalk(step, tables.values.views, tables.query.variables, tables.values, tables.budget)
    places, others, paths = walk.follow(starts, ends, reverse)
    columns: dict[str, tuple[pa.Array, PropertyType]] = {}
    for name, variable, nodes in ((NEAR, near, starts[places]), (FAR, far, others)):
        value = (EntityKey if variable.more_types else EntityId)(variable.slot)
        columns[name] = (tables.values.united_tables(variable.slot).take(value, nodes), value.type)
    read = {HOP_COLUMN: PathValue(step.path, PathPart.LENGTH, I64)}
    read[id_column(step.path)] = PathValue(step.path, PathPart.RANK, I64)
    for item in tables.attributes.of(step.path):
        read[item.column] = PathValue(step.path, PathPart(item.stored), item.type)
    columns |= {name: (walk.found.array(value, paths), value.type) for name, value in read.items()}
    schema = ", ".join(f"{name} {sql_type(type_)}" for name, (_, type_) in columns.items())
    return tables.spark.createDataFrame(pa.table({name: item for name, (item, _) in columns.items()}), schema)


def _find_nodes(united: UnitedTables, variable: Variable, ids: pa.Array) -> Positions:
    """Return the positions of nodes by the ids that Spark has for them, -1 for a missing one."""
    if not variable.more_types:
        return united.parts[0].view.find_each(ids)
    found = np.full(len(ids), NULL, dtype=np.int64)
    for part in united.parts:
        start = f"{part.owner.name}:"
        here = np.flatnonzero(pc.starts_with(ids, start).to_numpy(zero_copy_only=False))
        own = part.view.find_each(pc.utf8_slice_codeunits(ids.take(pa.array(here)), len(start)))
        found[here] = np.where(own == NULL, NULL, own + part.begin)
    return found
