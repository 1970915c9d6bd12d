"""`mergeSchema`: columns of a data frame that a type does not have become properties of it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import StructType

from omnigraph.compiler.catalog.migration.desired import DesiredSchema
from omnigraph.compiler.catalog.model import EdgeType, TableType
from omnigraph.execution.load.sources.json_rows import property_names
from omnigraph.graph.handle import Graph
from omnigraph.graph.schema_apply.application import SchemaApplication
from omnigraph.pipeline.spark_types import type_in_schema


def widen_type(graph: Graph, table: TableType, columns: StructType, mapping: Mapping[str, str]) -> bool:
    """Add the missing properties to a type, as a commit of its own; return whether any was missing.

    They may be NULL, since stored rows have none.
    """
    known = {"id", *table.by_name, *(("from", "to") if isinstance(table, EdgeType) else ())}
    names = property_names(columns.fieldNames(), mapping)
    missing = [
        f"  {name}: {type_in_schema(field.name, field.dataType)}?"
        for name, field in zip(names, columns.fields, strict=True)
        if name not in known
    ]
    if not missing:
        return False
    ends = f": {table.source} -> {table.target}" if isinstance(table, EdgeType) else ""
    text = f"{table.kind} {table.name}{ends} {{\n" + "\n".join(missing) + "\n}\n"
    graph.commit_work(SchemaApplication(DesiredSchema(text, extends=True), graph.schemas), durable=True)
    return True
