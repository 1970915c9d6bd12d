"""The order in which a schema's text declares the properties of a type."""

from __future__ import annotations

from functools import lru_cache

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.schema.ast import PropertyDeclaration
from omnigraph.compiler.schema.parser import parse_schema


def declared_order(table: TableType, source: str) -> list[str]:
    """Return the names of a type's properties as declared; those of interfaces come last, by name."""
    own = _read_declared_order(source).get(table.name, ())
    known = [name for name in own if name in table.by_name]
    return [*known, *(item.name for item in table.properties if item.name not in known)]


@lru_cache(maxsize=16)
def _read_declared_order(source: str) -> dict[str, tuple[str, ...]]:
    return {
        declaration.name.text: tuple(
            member.name.text for member in declaration.members if isinstance(member, PropertyDeclaration)
        )
        for declaration in parse_schema(source).declarations
    }
