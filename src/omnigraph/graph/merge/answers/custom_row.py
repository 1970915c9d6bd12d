"""The row that an answer with an image of its own asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.graph.merge.conflicts import Image
from omnigraph.graph.write.integrity.convert import convert


def custom_row(table: TableType, image: Image | None, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the row that a custom image asks for; what it does not name is as in `row`."""
    if image is None:
        return None
    if table.kind == "node" and "endpoints" in image:
        raise BadInput(f"a resolution for node {table.name} has endpoints, which only edges have")
    found: dict[str, Any] = {item.name: None for item in table.properties} | dict(row or {})
    properties = image.get("properties", {})
    unknown = sorted(set(properties) - set(table.by_name))
    if unknown:
        raise BadInput(
            f"a resolution for {table.name} names {unknown[0]!r}, which it does not have", type=table.name
        )
    key = table.key or ()
    for name, value in properties.items():
        try:
            given = convert(value, table.by_name[name].type)
        except ValueError as error:
            raise BadInput(
                f"a resolution for {table.name}: {name} {error}", type=table.name, property=name
            ) from None
        if name in key and given != found[name]:
            raise _another_key(table, name)
        found[name] = given
    if table.kind == "edge":
        ends = image.get("endpoints", {})
        for name, column in END_COLUMNS.items():
            before, found[column] = found.get(column), ends.get(name, found.get(column))
            if not isinstance(found[column], str):
                raise BadInput(f"a resolution for edge {table.name} needs endpoints.{name}", type=table.name)
            if column in key and before not in (None, found[column]):
                raise _another_key(table, name)
    return found


def _another_key(table: TableType, name: str) -> BadInput:
    return BadInput(
        f"a resolution for {table.name} changes {name}, which is part of its key: another key is "
        "another entity",
        type=table.name,
        property=name,
    )
