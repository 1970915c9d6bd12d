"""`mergeSchema`: columns of a data frame that a type does not have become properties of it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import StructType

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.migration.desired import DesiredSchema
from omnigraph.compiler.catalog.model import EdgeType, TableType
from omnigraph.execution.load.sources.json_rows import property_names
from omnigraph.graph.handle import Graph
from omnigraph.graph.schema_apply.application import SchemaApplication
from omnigraph.pipeline.spark_types import name_in_schema, type_in_schema


def widen_type(graph: Graph, table: TableType, columns: StructType, mapping: Mapping[str, str]) -> bool:
    """Add the missing properties to a type, as a commit of its own; return whether any was missing.

    They may be NULL, since stored rows have none.
    """
    known = {"id", *table.by_name, *(("from", "to") if isinstance(table, EdgeType) else ())}
    names = property_names(columns.fieldNames(), mapping)
    new = {name: field for name, field in zip(names, columns.fields, strict=True) if name not in known}
    if not new:
        return False
    _refuse_same_letters([*known, *new])
    missing = [
        f"  {name_in_schema(name)}: {type_in_schema(field.name, field.dataType)}?"
        for name, field in new.items()
    ]
    ends = f": {table.source} -> {table.target}" if isinstance(table, EdgeType) else ""
    text = f"{table.kind} {table.name}{ends} {{\n" + "\n".join(missing) + "\n}\n"
    graph.commit_work(SchemaApplication(DesiredSchema(text, extends=True), graph.schemas), durable=True)
    return True


def _refuse_same_letters(names: list[str]) -> None:
    """Refuse names that Spark takes for one: the values of one column would be spread over two properties."""
    found: dict[str, str] = {}
    for name in names:
        other = found.setdefault(name.lower(), name)
        if other != name:
            raise BadInput(
                f"the column {name} is {other} in other letters: rename it, or name the property with the "
                "option mapping",
                column=name,
            )
