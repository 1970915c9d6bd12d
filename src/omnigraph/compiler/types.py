"""The types of properties and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scalar(StrEnum):
    """The base types; the value is the name used in the schema language."""

    STRING = "String"
    BLOB = "Blob"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATETIME = "DateTime"
    DATE = "Date"

    @property
    def is_numeric(self) -> bool:
        """Whether this is one of the six number types."""
        return self in _INTEGERS or self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """Whether this is one of the four integer types."""
        return self in _INTEGERS

    @property
    def is_float(self) -> bool:
        """Whether this is one of the two float types."""
        return self in _FLOATS


STORED_RANGES = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}
"""The smallest and the largest number of each integer type."""
_INTEGERS = frozenset(STORED_RANGES)
_FLOATS = frozenset({Scalar.F32, Scalar.F64})


@dataclass(frozen=True, slots=True)
class PropertyType:
    """A property's type: a scalar, an enum (a String with `enum` set), a list of scalars, an F32 vector."""

    scalar: Scalar
    nullable: bool = False
    is_list: bool = False
    enum: tuple[str, ...] | None = None
    """Allowed values, sorted and unique; only with `scalar` String."""
    vector: int | None = None
    """The dimension; only with `scalar` F32."""
    map: EntityShape | None = None
    """What is in the map of a node or edge, which is only returned; `scalar` then says nothing."""

    def __str__(self) -> str:
        if self.map is not None:
            text = "Map"
        elif self.vector is not None:
            text = f"Vector({self.vector})"
        elif self.enum is not None:
            text = f"enum({', '.join(self.enum)})"
        else:
            text = self.scalar.value
        if self.is_list:
            text = f"[{text}]"
        return text + ("?" if self.nullable else "")

    @property
    def is_vector(self) -> bool:
        """Whether this is a vector."""
        return self.vector is not None

    @property
    def is_map(self) -> bool:
        """Whether this is a map, or a list of maps."""
        return self.map is not None

    @property
    def is_plain(self) -> bool:
        """Whether this is one value: neither list nor vector nor blob nor map."""
        return not self.is_list and not self.is_vector and not self.is_map and self.scalar is not Scalar.BLOB


@dataclass(frozen=True, slots=True)
class MapField:
    """A property in the map of a node or edge."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class EntityShape:
    """What is in the map of a node or edge: type, id, the ends of an edge, and properties.

    Several types have their properties in one sequence of fields. Properties of one name share a field if
    they have the same scalar and shape.
    """

    is_edge: bool
    fields: tuple[MapField, ...]
    fields_by_type: tuple[tuple[str, tuple[int, ...]], ...]
    """The fields that the nodes or edges of each type have, by number."""
