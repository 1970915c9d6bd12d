"""Result values as JSON."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.results import to_json


@pytest.mark.parametrize(
    ("value", "type_", "shown"),
    [
        (None, PropertyType(Scalar.I32, nullable=True), None),
        (2**64 - 1, PropertyType(Scalar.U64), 2**64 - 1),
        (0.10000000149011612, PropertyType(Scalar.F32), 0.10000000149011612),
        (float("nan"), PropertyType(Scalar.F64), "NaN"),
        (float("-inf"), PropertyType(Scalar.F64), "-Infinity"),
        (True, PropertyType(Scalar.BOOL), True),
        ("x", PropertyType(Scalar.STRING, enum=("x",)), "x"),
        (10, PropertyType(Scalar.DATE), "1970-01-11"),
        (datetime.date(1970, 1, 11), PropertyType(Scalar.DATE), "1970-01-11"),
        (1500, PropertyType(Scalar.DATETIME), "1970-01-01T00:00:01.500Z"),
        (
            datetime.datetime(1970, 1, 1, 0, 0, 1, 500_999),
            PropertyType(Scalar.DATETIME),
            "1970-01-01T00:00:01.500Z",
        ),
        (datetime.date(1970, 1, 2), PropertyType(Scalar.DATETIME), "1970-01-02T00:00:00.000Z"),
        ((1, None), PropertyType(Scalar.I32, is_list=True), [1, None]),
        ((10,), PropertyType(Scalar.DATE, is_list=True), ["1970-01-11"]),
        ((0.5, float("nan"), float("inf")), PropertyType(Scalar.F32, vector=3), [0.5, None, None]),
    ],
)
def test_a_value_as_json(value: Any, type_: PropertyType, shown: Any) -> None:
    assert to_json(value, type_) == shown
    json.dumps(shown, allow_nan=False)
