"""New rows that lack a required property."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.compiler.catalog.model import TableType
from omnigraph.embedding.config import PROVIDER_VARIABLE
from omnigraph.graph.write.integrity.problems import Problem, as_error


def require_all(table: TableType, row: Mapping[str, Any], why: str, place: str) -> None:
    """Refuse a new row without a required property, or without a part of its key."""
    require_key(table, row, place)
    absent = next((item for item in table.properties if item.name not in row), None)
    if absent is not None:
        if absent.embed is not None:
            why = f"give the vector, or its text and an embedding provider (set {PROVIDER_VARIABLE})"
        message = f"missing required property {table.name}.{absent.name}: {why}"
        raise as_error([Problem("required", table.name, message, absent.name, None, place)], 1)


def require_key(table: TableType, row: Mapping[str, Any], place: str) -> None:
    """Refuse a row whose key has a part that is NULL, as a computed one may be."""
    for name in table.key or ():
        if name in table.by_name and row.get(name, name) is None:
            message = f"{table.name}.{name} is part of the key, and what it is computed from has no value"
            raise as_error([Problem("required", table.name, message, name, None, place)], 1)
