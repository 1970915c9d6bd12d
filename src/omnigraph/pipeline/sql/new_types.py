"""CREATE TABLE and DROP TABLE as texts of the schema language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructType

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.compiler.schema.ast import Edge, Node
from omnigraph.compiler.schema.parser import parse_schema
from omnigraph.compiler.schema.printer import print_schema
from omnigraph.pipeline.spark_types import name_in_schema, type_in_schema

_TYPE_NAME = re.compile("[A-Z][A-Za-z0-9_]*")


def type_text(name: str, columns: StructType, properties: Mapping[str, Any]) -> str:
    """Return the declaration of a new type; the ends of an edge are properties of the table."""
    told = {key.removeprefix("option."): value for key, value in properties.items()}
    key = told.get("primary_key") or [word.strip() for word in told.get("key", "").split(",") if word.strip()]
    _check_type_names(name, *(told[end] for end in END_COLUMNS if end in told))
    is_edge = all(end in told for end in END_COLUMNS)
    if not is_edge and any(end in columns.fieldNames() for end in END_COLUMNS):
        raise BadInput(
            f"{name} has columns from and to: say the types of its ends, as in TBLPROPERTIES "
            "('from' = 'Person', 'to' = 'Person')",
            table=name,
        )
    for word in key:
        if word not in columns.fieldNames():
            raise BadInput(f"the key {word!r} is not a column of {name}", table=name, column=word)
    lines = []
    for field in columns:
        if is_edge and field.name in END_COLUMNS:
            continue
        needed = not field.nullable or field.name in key
        mark = " @key" if key == [field.name] and not is_edge else ""
        said = f"{name_in_schema(field.name)}: {type_in_schema(field.name, field.dataType)}"
        lines.append(f"  {said}{'' if needed else '?'}{mark}")
    if len(key) > 1 or (is_edge and key):
        words = END_COLUMNS if is_edge else {}
        lines.append(f"  @key({', '.join(words.get(word, word) for word in key)})")
    head = f"edge {name}: {told['from']} -> {told['to']}" if is_edge else f"node {name}"
    return f"{head} {{\n" + "\n".join(lines) + "\n}\n"


def _check_type_names(*names: str) -> None:
    for name in names:
        if not _TYPE_NAME.fullmatch(name):
            raise BadInput(
                f"{name!r} cannot be a type: names start with a capital letter and hold letters, digits "
                "and '_'",
                table=name,
            )


def text_without(source: str, table: TableType) -> str:
    """Return a schema without a type."""
    tree, kind = parse_schema(source), Node if table.kind == "node" else Edge
    kept = tuple(
        item for item in tree.declarations if not (isinstance(item, kind) and item.name.text == table.name)
    )
    return print_schema(replace(tree, declarations=kept))
