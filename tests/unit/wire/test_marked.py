"""A value means on a server what it means in this process, as a parameter and in a record of a load."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.accept import accept
from omnigraph.graph.write.integrity.json_values import as_json
from omnigraph.wire.marked import mark, unmark


def sent(value: Any) -> Any:
    return unmark(json.loads(json.dumps(mark(value))))


MOMENTS = [
    datetime(2024, 2, 29, 12, 0, 0, 1000, UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    np.datetime64("2024-02-29T12:00:00.001"),
    np.datetime64("2024-02-29T12:00:00.001", "ns"),
    np.datetime64("1969-12-31T23:59:59.9999", "ns"),
    np.datetime64("12024-02-29T12:00:00.001", "us"),
    np.datetime64("12024-02-29"),
    np.datetime64("-0044-03-15"),
    np.datetime64("2024-02-29"),
    np.datetime64("NaT", "ns"),
    np.datetime64("NaT", "D"),
    pd.Timestamp("2024-02-29T12:00:00.001000001Z"),
    pd.Timestamp(-1, unit="ns"),
    pd.NaT,
    "2024-02-29T12:00:00Z",
    1,
    None,
]


@pytest.mark.parametrize("value", MOMENTS, ids=repr)
def test_a_moment_is_the_same_on_a_server(value: Any) -> None:
    type_ = PropertyType(Scalar.DATETIME, nullable=True)
    assert accept(sent(value), type_) == accept(value, type_)
    assert accept(json.loads(json.dumps(as_json(value))), type_) == accept(value, type_)
    members = PropertyType(Scalar.DATETIME, nullable=True, is_list=True)
    if accept(value, type_) is not None:
        assert accept(sent([value]), members) == accept(np.array([value]), members) == (accept(value, type_),)


@pytest.mark.parametrize(
    "value", [0.1, math.inf, b"\x00", date(2024, 2, 29), Decimal("0.10"), {"@a": [1]}, "x"]
)
def test_other_values_come_back_as_they_are(value: Any) -> None:
    assert (sent(value), type(sent(value))) == (value, type(value))
    assert sent(np.array([1, 2])) == [1, 2] and sent(np.float32(0.5)) == 0.5 and sent(np.bool_(True)) is True
