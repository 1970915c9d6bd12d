"""Numbers of different types are compared by value, lists with the items beside them, as Python does."""

from __future__ import annotations

import operator
import random

import pyarrow as pa
import pytest

from omnigraph.compiler.ir.conditions import Comparator
from omnigraph.execution.conditions import _compare_columns, _contains_pairwise

PLAIN = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
}
INTEGERS = [
    0,
    1,
    -1,
    7,
    2**31 - 1,
    -(2**31),
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64 - 1,
]
FLOATS = [0.0, -0.0, 0.5, -0.5, 7.0, 7.25, -1.0, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300]
FLOATS += [float("inf"), -float("inf"), float("nan"), 5e-324, 2.0**53 + 2]
TYPES = [pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()]


def _column(type_: pa.DataType, size: int, seed: str) -> pa.Array:
    chosen = random.Random(seed)
    if pa.types.is_floating(type_):
        return pa.array([chosen.choice([*FLOATS, None]) for _ in range(size)], pa.float64()).cast(
            type_, safe=False
        )
    low, high = (0, 2**type_.bit_width) if "u" in str(type_) else (-(2 ** (type_.bit_width - 1)),) * 2
    high = high if low == 0 else -low
    fitting = [number for number in INTEGERS if low <= number < high]
    return pa.array([chosen.choice([*fitting, None]) for _ in range(size)], type_)


@pytest.mark.parametrize("left", TYPES, ids=str)
@pytest.mark.parametrize("right", TYPES, ids=str)
def test_columns_are_compared_by_value(left: pa.DataType, right: pa.DataType) -> None:
    a, b = _column(left, 400, f"{left}"), _column(right, 400, f"{right}!")
    for comparator, plain in PLAIN.items():
        said = _compare_columns(comparator, a, b).to_pylist()
        assert said == [
            None if x is None or y is None else plain(x, y)
            for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True)
        ]


@pytest.mark.parametrize(
    ("members", "item"),
    [
        (pa.int64(), pa.uint64()),
        (pa.float64(), pa.int64()),
        (pa.string(), pa.string()),
        (pa.date64(), pa.date64()),
    ],
    ids=str,
)
def test_lists_hold_the_items_beside_them(members: pa.DataType, item: pa.DataType) -> None:
    chosen = random.Random(1)

    def value(type_: pa.DataType) -> object:
        number = chosen.choice([None, 1, 2, 3])
        return f"t{number}" if number and pa.types.is_string(type_) else number

    lists = [None if at % 7 == 0 else [value(members) for _ in range(at % 4)] for at in range(200)]
    items = [value(item) for _ in range(200)]
    dates = {pa.date64(): pa.int64()}
    wide = pa.array(lists, pa.list_(dates.get(members, members))).cast(pa.list_(members))
    single = pa.array(items, dates.get(item, item)).cast(item)
    said = _contains_pairwise(wide.slice(3), single.slice(3)).to_pylist()

    def holds(some: list[object] | None, one: object) -> bool | None:
        if some is None or one is None:
            return None
        return True if one in some else None if None in some else False

    assert said == [holds(some, one) for some, one in list(zip(lists, items, strict=True))[3:]]
