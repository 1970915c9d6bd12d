"""Catalog to JSON data and back: equal catalogs give equal data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.base.errors import CorruptState, FormatTooNew
from omnigraph.compiler.catalog import model
from omnigraph.compiler.catalog.decoding import read_catalog
from omnigraph.compiler.catalog.model import Catalog, LiteralValue
from omnigraph.compiler.types import PropertyType

CATALOG_FORMAT = 2
_WITHOUT_EDGE_KEYS = 1
"""What releases that know no keys of edges read too: written as long as no edge has one."""

_Fields = dict[str, Any]


def to_json(catalog: Catalog) -> dict[str, Any]:
    """Return the catalog as plain JSON data; members with their default value are left out."""
    return {
        "format": CATALOG_FORMAT if any(item.key for item in catalog.edges) else _WITHOUT_EDGE_KEYS,
        "last_id": catalog.last_id,
        "interfaces": [_interface_fields(item) for item in catalog.interfaces],
        "nodes": [_node_fields(item) for item in catalog.nodes],
        "edges": [_edge_fields(item) for item in catalog.edges],
    }


def from_json(data: Any) -> Catalog:
    """Return the catalog that plain JSON data holds."""
    found = data.get("format") if isinstance(data, Mapping) else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise CorruptState("the stored catalog has no format number")
    if found > CATALOG_FORMAT:
        raise FormatTooNew(
            f"the stored catalog has format {found}; this release reads up to {CATALOG_FORMAT}:"
            " use a later release",
            found=found,
            supported=CATALOG_FORMAT,
        )
    try:
        return read_catalog(data)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CorruptState(f"the stored catalog is inconsistent: {error!r}") from error


def _without_defaults(fields: _Fields) -> _Fields:
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value != []
    }


def _interface_fields(item: model.InterfaceType) -> _Fields:
    return _without_defaults({"id": item.id, "name": item.name} | _type_members(item))


def _node_fields(item: model.NodeType) -> _Fields:
    return _without_defaults(
        {
            "id": item.id,
            "name": item.name,
            "table_id": item.table_id,
            "key": list(item.key) if item.key is not None else None,
            "uniques": [list(columns) for columns in item.uniques],
            "indexes": [list(columns) for columns in item.indexes],
            "ranges": [
                {"property": rule.property, "low": rule.low, "high": rule.high} for rule in item.ranges
            ],
            "checks": [{"property": rule.property, "pattern": rule.pattern} for rule in item.checks],
            "implements": list(item.implements),
            "description": item.description,
            "instruction": item.instruction,
        }
        | _type_members(item)
    )


def _edge_fields(item: model.EdgeType) -> _Fields:
    return _without_defaults(
        {
            "id": item.id,
            "name": item.name,
            "table_id": item.table_id,
            "source": item.source,
            "target": item.target,
            "cardinality": [item.cardinality.low, item.cardinality.high],
            "key": list(item.key) if item.key is not None else None,
            "uniques": [list(columns) for columns in item.uniques],
            "indexes": [list(columns) for columns in item.indexes],
            "description": item.description,
            "instruction": item.instruction,
        }
        | _type_members(item)
    )


def _type_members(item: model.InterfaceType | model.NodeType | model.EdgeType) -> _Fields:
    return {
        "properties": [_property_fields(declared) for declared in item.properties],
        "annotations": [_annotation_fields(annotation) for annotation in item.annotations],
    }


def _property_fields(item: model.Property) -> _Fields:
    embed = {"source": item.embed.source, "model": item.embed.model} if item.embed else None
    return _without_defaults(
        {
            "id": item.id,
            "name": item.name,
            "type": _type_fields(item.type),
            "default": {"value": _plain(item.default.value)} if item.default else None,
            "embed": embed,
            "merge_rule": item.merge_rule,
            "description": item.description,
            "annotations": [_annotation_fields(annotation) for annotation in item.annotations],
            "from_interface": item.from_interface,
            "inline_unique": item.inline_unique,
        }
    )


def _type_fields(item: PropertyType) -> _Fields:
    return _without_defaults(
        {
            "scalar": item.scalar.value,
            "nullable": item.nullable,
            "is_list": item.is_list,
            "enum": list(item.enum) if item.enum else None,
            "vector": item.vector,
        }
    )


def _annotation_fields(item: model.Annotation) -> _Fields:
    arguments = [[name, _plain(value)] for name, value in item.arguments]
    return _without_defaults({"name": item.name, "arguments": arguments}) | (
        {"value": _plain(item.value)} if item.value is not None else {}
    )


def _plain(value: LiteralValue) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
