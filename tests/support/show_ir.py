"""The executable form as indented text, for golden files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from omnigraph.compiler.catalog.model import Property
from omnigraph.compiler.types import PropertyType

_WIDTH = 100


def show(node: Any) -> str:
    """Return a node and everything below it, one line for what fits."""
    return "\n".join(_lines(node, ""))


def _lines(node: Any, indent: str) -> Iterator[str]:
    flat = _flat(node)
    if len(indent) + len(flat) <= _WIDTH or not _parts(node):
        yield indent + flat
        return
    yield f"{indent}{_head(node)}"
    for name, part in _parts(node):
        label = f"{name}: " if name else ""
        lines = list(_lines(part, f"{indent}  "))
        yield f"{indent}  {label}{lines[0].lstrip()}".rstrip()
        yield from lines[1:]


def _head(node: Any) -> str:
    return "" if isinstance(node, tuple) else type(node).__name__


def _parts(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, tuple):
        return [("", item) for item in node]
    if is_dataclass(node) and not isinstance(node, Property | PropertyType):
        values = [(item.name, getattr(node, item.name), item.default) for item in fields(node)]
        return [(name, value) for name, value, default in values if value not in (default, ())]
    return []


def _flat(node: Any) -> str:
    if isinstance(node, PropertyType):
        return str(node)
    if isinstance(node, Property):
        return node.name
    if isinstance(node, Enum):
        return node.name
    if isinstance(node, tuple):
        return f"[{', '.join(_flat(item) for item in node)}]"
    if is_dataclass(node):
        inner = ", ".join(f"{name}={_flat(value)}" for name, value in _parts(node))
        return f"{_head(node)}({inner})"
    return repr(node)
