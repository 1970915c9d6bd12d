"""The static descriptor of a query: its result columns and the tables that it reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.compiler.ir.queries import Column, CompiledQuery, TouchedTable
from omnigraph.compiler.types import PropertyType, Scalar

_KIND_OF_SCALAR = {
    Scalar.STRING: "string",
    Scalar.BLOB: "blob",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
}


def describe_operation(query: CompiledQuery) -> dict[str, Any]:
    """Return the descriptor as JSON data."""
    return {
        "result": [_column(item) for item in query.columns],
        "reads": _tables(query.reads),
        "writes": _tables(query.writes),
    }


def _column(column: Column) -> dict[str, Any]:
    return {"name": column.name, **describe_type(column.type), "nullable": column.type.nullable}


def describe_type(type_: PropertyType) -> dict[str, Any]:
    """Return the kind of a type, as clients that know no schema tell them apart."""
    if type_.vector is not None:
        return {"kind": "vector", "vector_dim": type_.vector}
    kind = "map" if type_.is_map else _KIND_OF_SCALAR[type_.scalar]
    return {"kind": "list", "item_kind": kind} if type_.is_list else {"kind": kind}


def _tables(tables: Sequence[TouchedTable]) -> list[dict[str, Any]]:
    return [{"kind": item.kind, "type_name": item.type_name} for item in tables]
