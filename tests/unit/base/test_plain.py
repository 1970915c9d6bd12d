"""The JSON form of dataclasses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.plain import NOT_STORED, from_plain, json_name, listed, to_full_object, to_plain


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@listed
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    colour: Colour = field(default=Colour.RED, metadata=json_name("class"))
    centre: Point | None = None
    corners: tuple[Point, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    by_name: Mapping[str, Point] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    inner: Shape | None = None
    notes: Mapping[str, Any] | None = None
    seen: int = field(default=0, compare=False, metadata=NOT_STORED)


points = st.builds(Point, st.integers(), st.integers(), st.text(max_size=3))
flat = st.builds(
    Shape,
    st.text(max_size=3),
    st.sampled_from(Colour),
    st.none() | points,
    st.lists(points, max_size=2).map(tuple),
    st.lists(st.tuples(st.integers(), st.integers()), max_size=2).map(tuple),
    st.dictionaries(st.text(max_size=2), points, max_size=2),
    st.frozensets(st.text(max_size=2), max_size=3),
    st.none(),
    st.none() | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)
shapes = st.builds(lambda outer, inner: Shape(outer.name, outer.colour, inner=inner), flat, st.none() | flat)


@given(flat | shapes)
def test_a_value_comes_back_from_json_text(shape: Shape) -> None:
    assert from_plain(Shape, json.loads(json.dumps(to_plain(shape)))) == shape


@given(flat)
def test_a_value_with_its_defaults_comes_back_too(shape: Shape) -> None:
    assert from_plain(Shape, json.loads(json.dumps(to_full_object(shape)))) == shape


def test_what_has_its_default_is_left_out() -> None:
    assert to_plain(Shape("a", inner=Shape("b", Colour.BLUE))) == {
        "name": "a",
        "inner": {"name": "b", "class": "blue"},
    }
    assert set(to_full_object(Shape("a"))) == {
        "name",
        "class",
        "centre",
        "corners",
        "spans",
        "by_name",
        "tags",
        "inner",
        "notes",
    }


def test_a_list_ends_where_only_defaults_follow() -> None:
    assert [to_plain(item) for item in (Point(1), Point(1, 2), Point(1, 0, "a"))] == [
        [1],
        [1, 2],
        [1, 0, "a"],
    ]


def test_a_field_that_is_not_stored_has_its_default_when_read() -> None:
    assert from_plain(Shape, to_plain(Shape("a", seen=7))).seen == 0


def test_equal_sets_give_equal_data() -> None:
    assert to_plain(Shape("a", tags=frozenset("cab")))["tags"] == ["a", "b", "c"]


def test_a_later_release_may_have_further_fields() -> None:
    assert from_plain(Shape, {"name": "a", "weight": 3}) == Shape("a")


@pytest.mark.parametrize("data", [{}, {"name": "a", "class": "green"}, {"name": "a", "corners": 3}, [], None])
def test_data_of_another_form_is_refused(data: Any) -> None:
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError)):
        from_plain(Shape, data)
