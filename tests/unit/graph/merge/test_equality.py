"""Plain values are compared as stored columns are."""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.graph.changes.equality import equal_values
from omnigraph.graph.merge.equality import same


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ((None, 0.0, -0.0, 1.5), pa.float64()),
        ((None, 0.0, -0.0, 0.5), pa.float32()),
        ((None, "", "a"), pa.string()),
        ((None, (), ("a, b",), ("a", "b"), ("a", None)), pa.list_(pa.string())),
        ((None, (), (0.0,), (-0.0,), (0.0, 1.0)), pa.list_(pa.float64())),
        ((None, (0.0, 1.0), (-0.0, 1.0), (0.0, 2.0)), pa.list_(pa.float32(), 2)),
        ((None, True, False), pa.bool_()),
        ((None, 0, 1, -1), pa.int64()),
        ((None, b"", b"\x00"), pa.large_binary()),
    ],
)
def test_a_merge_tells_apart_what_a_diff_tells_apart(values: tuple[Any, ...], type_: pa.DataType) -> None:
    pairs = list(product(values, values))
    stored = equal_values(*(pa.array(side, type_) for side in zip(*pairs, strict=True)))
    assert [same(one, two) for one, two in pairs] == stored.tolist()


def test_rows_are_the_same_when_every_value_is() -> None:
    assert same({"a": 1, "f": 0.0}, {"f": 0.0, "a": 1})
    assert not same({"a": 1, "f": 0.0}, {"a": 1, "f": -0.0})
    assert not same({"a": 1}, {"a": 1, "b": None})
    assert not same({"a": 1}, None)
