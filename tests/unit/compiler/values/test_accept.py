"""The one rule for values: what each type takes, and that everyone who applies it stores the same."""

from __future__ import annotations

import enum
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import BadInput, ParseError
from omnigraph.compiler.typecheck.types import convert_to_stored
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.accept import Fault, Refused, accept, find_outside_enum
from omnigraph.compiler.values.params import decode_params
from omnigraph.graph.write.integrity.convert import convert


class Colour(str, enum.Enum):  # noqa: UP042 (unlike a StrEnum, str() gives its name)
    RED = "red"


BEYOND = np.datetime64("20000-01-01")
"""A day that Python's calendar does not have."""


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (Colour.RED, PropertyType(Scalar.STRING), "red"),
        (Decimal("3.0"), PropertyType(Scalar.I32), 3),
        (0.1, PropertyType(Scalar.F32), 0.10000000149011612),
        (-1, PropertyType(Scalar.DATE), -1),
        (date(1970, 1, 2), PropertyType(Scalar.DATETIME), 86_400_000),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), PropertyType(Scalar.DATETIME), -1),
        (BEYOND, PropertyType(Scalar.DATE), 6_585_322),
        (BEYOND, PropertyType(Scalar.DATETIME), 6_585_322 * 86_400_000),
        (BEYOND.astype("datetime64[s]"), PropertyType(Scalar.DATETIME), 6_585_322 * 86_400_000),
        (np.array([BEYOND]), PropertyType(Scalar.DATE, is_list=True), (6_585_322,)),
        ("base64:AA==", PropertyType(Scalar.BLOB), "base64:AA=="),
        (None, PropertyType(Scalar.F32, nullable=True, vector=2), None),
    ],
)
def test_a_value_becomes_what_is_stored(value: Any, type_: PropertyType, expected: Any) -> None:
    found = accept(value, type_)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_", "fault"),
    [
        (None, PropertyType(Scalar.I32), Fault.NULL),
        ([None], PropertyType(Scalar.I32, is_list=True), Fault.KIND),
        (1, PropertyType(Scalar.I32, is_list=True), Fault.ARRAY),
        ([1.0], PropertyType(Scalar.F32, vector=2), Fault.LENGTH),
        (True, PropertyType(Scalar.I32), Fault.KIND),
        (BEYOND, PropertyType(Scalar.I64), Fault.KIND),
        (datetime(2024, 1, 1), PropertyType(Scalar.DATE), Fault.KIND),
        (1e39, PropertyType(Scalar.F32), Fault.RANGE),
        (-math.inf, PropertyType(Scalar.F64), Fault.RANGE),
        (math.nan, PropertyType(Scalar.F32), Fault.NAN),
        (2**31, PropertyType(Scalar.DATE), Fault.RANGE),
        ("2023-02-29", PropertyType(Scalar.DATE), Fault.DATE_TEXT),
        ("a\ud800", PropertyType(Scalar.STRING), Fault.SURROGATE),
    ],
)
def test_what_does_not_fit_is_refused_for_a_reason(value: Any, type_: PropertyType, fault: Fault) -> None:
    with pytest.raises(Refused) as refused:
        accept(value, type_)
    assert refused.value.fault is fault


@pytest.mark.parametrize("scalar", STORED_RANGES)
def test_an_integer_type_takes_its_range_and_no_more(scalar: Scalar) -> None:
    low, high = STORED_RANGES[scalar]
    assert [accept(value, PropertyType(scalar)) for value in (low, high)] == [low, high]
    for value in (low - 1, high + 1):
        with pytest.raises(Refused):
            accept(value, PropertyType(scalar))


def test_an_enum_takes_the_values_that_it_names() -> None:
    colours = PropertyType(Scalar.STRING, enum=("green", "red"))
    assert find_outside_enum(["red", "blue"], colours) == ["blue"]
    assert find_outside_enum(["blue"], PropertyType(Scalar.STRING)) == []


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.decimals(allow_nan=True),
    st.text(max_size=3),
    st.dates(),
    st.datetimes(),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.dates().map(str),
)
TYPES = st.builds(
    PropertyType, st.sampled_from([item for item in Scalar if item is not Scalar.BLOB]), st.booleans()
)


@given(VALUES, TYPES, st.booleans())
def test_a_parameter_a_record_and_an_assignment_store_the_same(
    value: Any, type_: PropertyType, is_list: bool
) -> None:
    if is_list:
        value, type_ = [value, value], PropertyType(type_.scalar, type_.nullable, is_list=True)
    try:
        record = convert(value, type_)
    except ValueError:
        record = None
    try:
        parameter = decode_params({"p": value}, [("p", type_)])["p"]
    except (BadInput, ParseError):
        parameter = None
    if parameter is not None:
        assert convert_to_stored(parameter, type_) == parameter
    if parameter is not None and record is not None:
        assert parameter == record
