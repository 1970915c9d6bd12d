"""Values cross JSON without losing a digit."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.wire.values import LARGEST_EXACT_INTEGER, decode, encode


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    count: int
    at: datetime | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    ratio: float
    data: bytes
    day: date
    colour: Colour
    parts: tuple[Inner, ...]
    counts: dict[str, int] = field(default_factory=dict)
    more: Any = None


times = st.datetimes(timezones=st.just(UTC))
inners = st.builds(Inner, st.integers(), st.none() | times)
outers = st.builds(
    Outer,
    st.text(),
    st.floats(allow_nan=False),
    st.binary(),
    st.dates(),
    st.sampled_from(Colour),
    st.lists(inners).map(tuple),
    st.dictionaries(st.text(), st.integers()),
)


@given(outers)
def test_a_class_is_the_same_after_a_journey(value: Outer) -> None:
    assert decode(Outer, json.loads(json.dumps(encode(value)))) == value


@pytest.mark.parametrize("number", [LARGEST_EXACT_INTEGER, -LARGEST_EXACT_INTEGER, 0])
def test_a_number_that_every_reader_knows_stays_one(number: int) -> None:
    assert encode(number) == number


@pytest.mark.parametrize(
    "number", [LARGEST_EXACT_INTEGER + 1, -LARGEST_EXACT_INTEGER - 1, 2**63 - 1, 2**64 - 1]
)
def test_a_larger_number_is_a_string(number: int) -> None:
    assert encode(number) == str(number)
    assert decode(int, encode(number)) == number


def test_times_are_in_utc_and_floats_that_json_lacks_are_strings() -> None:
    assert encode(datetime(2026, 1, 31, 2, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-31T00:00:00Z"
    assert encode([float("inf"), float("nan")]) == ["inf", "nan"]


def test_a_member_that_is_not_known_is_passed_over() -> None:
    assert decode(Inner, {"count": 3, "new": 4}) == Inner(3)
