"""Unique tuples against stored rows: every type, few values and many, alone and in a tuple."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

STORED: dict[str, list[Any]] = {
    "String": ["x", "", "ä,b"],
    "Bool": [True],
    "I32": [-(2**31), 0],
    "I64": [-(2**63), 2**53 + 1, 2**63 - 1],
    "U32": [0, 2**32 - 1],
    "U64": [0, 2**53 + 1, 2**64 - 1],
    "F32": [0.1, 0.0, -1.5],
    "F64": [0.1, -0.0, 1e300],
    "Date": ["2024-02-29", -719162],
    "DateTime": ["2024-02-29T01:02:03.004Z", 1, -1],
    "enum(a, b)": ["a"],
}
AGAIN = {0.0: -0.0}
"""Another way to write a stored value: both zeros are one."""


def _records(values: list[Any], start: int = 0) -> list[dict[str, Any]]:
    return [
        {"type": "A", "data": {"k": str(at), "v": value, "w": "same"}}
        for at, value in enumerate(values, start)
    ]


@pytest.mark.parametrize("type_", STORED)
@pytest.mark.parametrize("rule", ["@unique(v)", "@unique(v, w)", "@unique(w, v)"])
def test_a_stored_value_is_taken_whatever_its_type(type_: str, rule: str, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", f"node A {{ k: String @key  v: {type_}?  w: String?  {rule} }}")
    values = STORED[type_]
    graph.load([*_records(values), *_records([None, None], 50)], mode="append")
    before = graph.snapshot().tables
    for mode in ("append", "merge"):
        for value in values:
            again = AGAIN.get(value, value) if isinstance(value, float) else value
            with pytest.raises(og.ValidationError, match="@unique violation on A") as raised:
                graph.load(_records([again], 90), mode=mode)
            assert raised.value.details["total"] == 1
    assert graph.snapshot().tables == before
    graph.load(_records([None], 91), mode="append")  # a row with a NULL member is exempt
    graph.load(_records(values), mode="merge")  # the rows themselves are no duplicates of themselves


@pytest.mark.parametrize("type_", [name for name in STORED if name not in ("Bool", "enum(a, b)")])
def test_a_stored_value_is_taken_also_among_thousands_of_new_ones(type_: str, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", f"node A {{ k: String @key  v: {type_}? @unique  w: String? }}")
    taken = STORED[type_][1] if type_ in ("F32", "F64") else STORED[type_][0]
    graph.load(_records([taken]), mode="append")
    many = [f"n{at}" if type_ == "String" else at + 1000 for at in range(2500)]
    again = AGAIN.get(taken, taken) if isinstance(taken, float) else taken
    with pytest.raises(og.ValidationError) as raised:
        graph.load(_records([*many, again], 10), mode="append")
    assert raised.value.details["total"] == 1
    assert raised.value.details["problems"][0]["place"] == "record 2501"
    graph.load(_records(many, 10), mode="append")
    assert graph.snapshot().tables[0].rows == 2501
