"""A row as Cedar sees it: an entity of its type, whose attributes are its properties.

Attributes are String, Bool, integers, Date and DateTime, and lists of these as sets. What Cedar has no values
for (floats, vectors, blobs) is not an attribute, and NULL is one that is missing.
"""

from __future__ import annotations

from enum import Enum

from omnigraph.compiler.catalog.model import EdgeType, Property, TableType
from omnigraph.compiler.ir.values import ROW_VARIABLE, EdgeEnd, End, EntityId, PropertyValue, Value
from omnigraph.compiler.types import Scalar

TYPE = "Type"
"""The Cedar type of what every row of a type is in."""


class CedarKind(Enum):
    """The types of Cedar that a value can have here."""

    BOOL = "Bool"
    LONG = "Long"
    STRING = "String"
    MOMENT = "datetime"
    ENTITY = "Entity"


_CEDAR_KINDS = {
    Scalar.STRING: CedarKind.STRING,
    Scalar.BOOL: CedarKind.BOOL,
    Scalar.I32: CedarKind.LONG,
    Scalar.I64: CedarKind.LONG,
    Scalar.U32: CedarKind.LONG,
    Scalar.U64: CedarKind.LONG,
    Scalar.DATE: CedarKind.MOMENT,
    Scalar.DATETIME: CedarKind.MOMENT,
}
ENDS = {"from": End.SOURCE, "to": End.TARGET}


def kind_of(declared: Property) -> CedarKind | None:
    """Return what Cedar takes a property, or the members of a list, for; None when it is not an attribute."""
    type_ = declared.type
    return None if type_.vector is not None or type_.map is not None else _CEDAR_KINDS.get(type_.scalar)


def attribute(table: TableType, name: str) -> Property | None:
    """Return the property that an attribute is."""
    declared = next((item for item in table.properties if item.name == name), None)
    return declared if declared is not None and kind_of(declared) is not None else None


def row_id() -> Value:
    """Return the id of a row."""
    return EntityId(ROW_VARIABLE)


def read(declared: Property) -> Value:
    """Return the value of a property of a row."""
    return PropertyValue(ROW_VARIABLE, declared)


def end_of(table: TableType, name: str) -> tuple[str, Value] | None:
    """Return the type and id of the node at the end of an edge that an attribute names."""
    if not isinstance(table, EdgeType) or name not in ENDS or attribute(table, name) is not None:
        return None
    end = ENDS[name]
    return (table.source if end is End.SOURCE else table.target), EdgeEnd(ROW_VARIABLE, end)


def groups_of(table: TableType) -> frozenset[str]:
    """Return the ids of the `Type` entities that every row of a type is in: its type and interfaces."""
    return frozenset({table.name, *(table.implements if table.kind == "node" else ())})
