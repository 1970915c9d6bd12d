"""What one schema asks of rows that another does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph.compiler.catalog.model import EDGE_ENDS, EdgeType, NodeType, TableType

_Rule = tuple[Any, ...]


def asks_for_more(old: TableType, new: TableType) -> bool:
    """Return whether rows that satisfy the rules of a type may break those of its newer form."""
    kept = {item.id: item for item in old.properties}
    for item in new.properties:
        was = kept.get(item.id)
        if was is not None and not set(was.type.enum or ()) <= set(item.type.enum or ()):
            return True
        if was is not None and was.type.scalar is not item.type.scalar:
            return True
        if was is None and not item.type.nullable and item.default is None:
            return True
    return not _rules(new) <= _rules(old)


def _rules(table: TableType) -> set[_Rule]:
    ids: dict[str, Any] = {item.name: item.id for item in table.properties}
    if isinstance(table, EdgeType):
        ids |= {name: name for name in EDGE_ENDS}
    rules: set[_Rule] = {("unique", _ids(names, ids)) for names in table.uniques}
    rules |= {("required", item.id) for item in table.properties if not item.type.nullable}
    if table.key:
        rules.add(("key", tuple(ids[name] for name in table.key)))
    if isinstance(table, NodeType):
        rules |= {("range", ids[rule.property], rule.low, rule.high) for rule in table.ranges}
        rules |= {("check", ids[rule.property], rule.pattern) for rule in table.checks}
    elif not table.cardinality.is_default:
        rules.add(("card", table.cardinality))
    return rules


def _ids(names: Iterable[str], ids: Mapping[str, Any]) -> frozenset[Any]:
    return frozenset(ids[name] for name in names)
