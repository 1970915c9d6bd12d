"""Plain JSON data to catalog values; what does not fit raises KeyError, TypeError or ValueError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from omnigraph.compiler.catalog import model
from omnigraph.compiler.catalog.model import Catalog, LiteralValue
from omnigraph.compiler.types import PropertyType, Scalar

_Value = TypeVar("_Value")


def read_catalog(data: Any) -> Catalog:
    """Return the catalog that the data of the current format holds."""
    with _Members(data) as members:
        members.take("format", int)
        return Catalog(
            members.items("interfaces", _interface),
            members.items("nodes", _node),
            members.items("edges", _edge),
            members.take("last_id", int),
        )


class _Members:
    """The members of a JSON object; leaving the block fails when one was not taken."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise TypeError(f"expected an object, found {type(data).__name__}")
        self._left = dict(data)

    def __enter__(self) -> _Members:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._left:
            raise ValueError(f"unknown members {sorted(self._left)}")

    def take(self, name: str, kind: type[_Value]) -> _Value:
        """Take a member that must be there."""
        value = self._left.pop(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{name} is not {kind.__name__}")
        return value

    def get(self, name: str, kind: type[_Value]) -> _Value | None:
        """Take a member that may be absent."""
        return self.take(name, kind) if self._left.get(name) is not None else self._left.pop(name, None)

    def items(self, name: str, read: Callable[[Any], _Value]) -> tuple[_Value, ...]:
        """Take a list member, absent when empty."""
        return tuple(read(item) for item in self.get(name, list) or ())

    def one(self, name: str, read: Callable[[Any], _Value]) -> _Value | None:
        """Take a member that may be absent, with a reader of its own."""
        value = self._left.pop(name, None)
        return read(value) if value is not None else None

    def literal(self, name: str) -> LiteralValue:
        """Take a literal that may be null or absent."""
        return _literal(self._left.pop(name, None))


def _interface(data: Any) -> model.InterfaceType:
    with _Members(data) as members:
        return model.InterfaceType(
            members.take("id", int),
            members.take("name", str),
            members.items("properties", _property),
            members.items("annotations", _annotation),
        )


def _node(data: Any) -> model.NodeType:
    with _Members(data) as members:
        return model.NodeType(
            id=members.take("id", int),
            name=members.take("name", str),
            table_id=members.take("table_id", int),
            properties=members.items("properties", _property),
            key=members.one("key", _names),
            uniques=members.items("uniques", _names),
            indexes=members.items("indexes", _names),
            ranges=members.items("ranges", _range),
            checks=members.items("checks", _check),
            implements=members.items("implements", _text),
            description=members.get("description", str),
            instruction=members.get("instruction", str),
            annotations=members.items("annotations", _annotation),
        )


def _edge(data: Any) -> model.EdgeType:
    with _Members(data) as members:
        low, high = members.take("cardinality", list)
        if not isinstance(low, int) or not isinstance(high, int | None):
            raise TypeError("cardinality is not a pair of whole numbers")
        return model.EdgeType(
            id=members.take("id", int),
            name=members.take("name", str),
            table_id=members.take("table_id", int),
            source=members.take("source", str),
            target=members.take("target", str),
            cardinality=model.Cardinality(low, high),
            properties=members.items("properties", _property),
            key=members.one("key", _names),
            uniques=members.items("uniques", _names),
            indexes=members.items("indexes", _names),
            description=members.get("description", str),
            instruction=members.get("instruction", str),
            annotations=members.items("annotations", _annotation),
        )


def _property(data: Any) -> model.Property:
    with _Members(data) as members:
        return model.Property(
            id=members.take("id", int),
            name=members.take("name", str),
            type=_type(members.take("type", dict)),
            default=members.one("default", _default),
            embed=members.one("embed", _embed),
            merge_rule=members.get("merge_rule", str),
            description=members.get("description", str),
            annotations=members.items("annotations", _annotation),
            from_interface=members.get("from_interface", str),
            inline_unique=members.get("inline_unique", bool) or False,
        )


def _type(data: Any) -> PropertyType:
    with _Members(data) as members:
        return PropertyType(
            Scalar(members.take("scalar", str)),
            members.get("nullable", bool) or False,
            members.get("is_list", bool) or False,
            members.one("enum", _names),
            members.get("vector", int),
        )


def _annotation(data: Any) -> model.Annotation:
    with _Members(data) as members:
        return model.Annotation(
            members.take("name", str), members.literal("value"), members.items("arguments", _keyword)
        )


def _range(data: Any) -> model.Range:
    with _Members(data) as members:
        return model.Range(
            members.take("property", str), members.one("low", _number), members.one("high", _number)
        )


def _check(data: Any) -> model.Check:
    with _Members(data) as members:
        return model.Check(members.take("property", str), members.take("pattern", str))


def _default(data: Any) -> model.Default:
    with _Members(data) as members:
        return model.Default(members.literal("value"))


def _embed(data: Any) -> model.Embed:
    with _Members(data) as members:
        return model.Embed(members.take("source", str), members.get("model", str))


def _keyword(data: Any) -> tuple[str, LiteralValue]:
    name, value = data
    return _text(name), _literal(value)


def _names(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list):
        raise TypeError("expected a list of names")
    return tuple(_text(item) for item in data)


def _number(data: Any) -> int | float:
    if not isinstance(data, int | float) or isinstance(data, bool):
        raise TypeError(f"expected a number, found {type(data).__name__}")
    return data


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError(f"expected a string, found {type(data).__name__}")
    return data


def _literal(data: Any) -> LiteralValue:
    if isinstance(data, list):
        return tuple(_literal(item) for item in data)
    if data is None or isinstance(data, str | int | float | bool):
        return data
    raise TypeError(f"expected a literal, found {type(data).__name__}")
