"""The schema of a class is that of what `encode` makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, Literal, NotRequired, TypedDict

import pytest
from jsonschema import Draft202012Validator

from omnigraph.wire.schemas import SchemaBook
from omnigraph.wire.values import encode


class Colour(Enum):
    """Some."""

    RED = "red"


@dataclass(frozen=True)
class Leaf:
    """One of a tree.

    More of it."""

    name: str
    parts: tuple[Leaf, ...] = ()


class Extra(TypedDict):
    """Members that need not be there."""

    name: str
    size: NotRequired[int]


@dataclass(frozen=True)
class Everything:
    """All kinds of members."""

    leaf: Leaf
    colour: Colour = Colour.RED
    kind: Literal["a", "b"] = "a"
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    day: date = date(2026, 1, 1)
    data: bytes = b"x"
    pair: tuple[int, str] = (1, "x")
    names: frozenset[str] = frozenset({"x"})
    counts: Mapping[str, int] = field(default_factory=lambda: {"x": 1})
    maybe: float | None = None
    any: Any = None
    extra: Extra = field(default_factory=lambda: Extra(name="x"))


def validator(hint: Any) -> Draft202012Validator:
    book = SchemaBook()
    schema = book.describe(hint)
    return Draft202012Validator({**schema, "components": {"schemas": book.schemas}})


def test_what_is_encoded_is_valid() -> None:
    told = encode(Everything(Leaf("a", (Leaf("b"),))))
    assert validator(Everything).is_valid(told)
    book = SchemaBook()
    book.describe(Everything)
    assert set(book.schemas) == {"Everything", "Leaf", "Extra"}
    assert book.schemas["Leaf"]["description"] == "One of a tree."


@pytest.mark.parametrize(
    "change",
    [
        {"leaf": {"name": "a"}},
        {"leaf": {"name": "a", "parts": [{"name": 1, "parts": []}]}},
        {"colour": "blue"},
        {"kind": "c"},
        {"pair": [1]},
        {"pair": ["x", 1]},
        {"counts": {"x": "y"}},
        {"maybe": "x"},
        {"extra": {"size": 1}},
        {"names": "x"},
    ],
)
def test_what_is_not_encoded_so_is_not_valid(change: Mapping[str, Any]) -> None:
    told = encode(Everything(Leaf("a")))
    assert not validator(Everything).is_valid({**told, **change})


def test_two_classes_of_one_name_are_refused() -> None:
    book = SchemaBook()
    book.describe(Leaf)
    other = dataclass(type("Leaf", (), {"__annotations__": {"x": int}}))
    with pytest.raises(AssertionError, match="two classes Leaf"):
        book.describe(other)
