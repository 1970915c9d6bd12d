"""Partial results of tasks: put together they are the results over all rows, and no sum in them overflows."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.pipeline.sql import aggregates
from omnigraph.pipeline.sql.aggregates import Aggregates

ENDS = [-(2**63), -1, 0, 1, 2**62, 2**63 - 1]
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([*ENDS, None])), max_size=12)
OF = (("SUM", "n"), ("COUNT", "n"), ("COUNT_ROWS", "n"), ("MIN", "n"), ("MAX", "n"))


def batches(rows: list[tuple[str | None, int | None]], size: int) -> list[pa.RecordBatch]:
    return [
        pa.record_batch(
            {
                "k": pa.array([key for key, _ in rows[at : at + size]], pa.string()),
                "n": pa.array([number for _, number in rows[at : at + size]], pa.int64()),
            }
        )
        for at in range(0, len(rows), size)
    ]


@given(rows=ROWS, size=st.integers(1, 4), grouped=st.booleans())
def test_partial_results_are_those_of_all_rows(
    rows: list[tuple[str | None, int | None]], size: int, grouped: bool
) -> None:
    asked = Aggregates(("k",) if grouped else (), OF)
    found = [tuple(row.values()) for part in asked.compute(batches(rows, size)) for row in part.to_pylist()]
    assert grouped or found
    for key in {key for key, _ in rows} if grouped else {()}:
        parts = [row[grouped:] for row in found if not grouped or row[0] == key]
        given_ = [number for name, number in rows if not grouped or name == key]
        values = [number for number in given_ if number is not None]
        sums = [part[0] for part in parts if part[0] is not None]
        assert sum(sums) == sum(values) and bool(sums) is bool(values)
        assert [sum(part[at] for part in parts) for at in (1, 2)] == [len(values), len(given_)]
        assert min((part[3] for part in parts if part[3] is not None), default=None) == min(
            values, default=None
        )
        assert max((part[4] for part in parts if part[4] is not None), default=None) == max(
            values, default=None
        )


def test_rows_whose_sum_could_overflow_come_one_by_one_in_their_order() -> None:
    numbers = [1, 2, 2**63 - 1, -5, None, 7]
    asked = Aggregates((), (("SUM", "n"), ("COUNT_ROWS", "n")))
    found = asked.compute(batches([(None, number) for number in numbers], 2))
    rows = [tuple(row.values()) for part in found for row in part.to_pylist()]
    assert rows == [(3, 2), (2**63 - 1, 1), (-5, 1), (None, 1), (7, 1)]


def test_a_task_keeps_only_so_many_groups() -> None:
    size = aggregates._MOST_GROUPS
    rows = [
        pa.record_batch({"n": pa.array(range(at, at + size // 2))}) for at in range(0, 3 * size, size // 2)
    ]
    found = list(Aggregates(("n",), (("COUNT_ROWS", "n"),)).compute([*rows, *rows]))
    assert max(part.num_rows for part in found) <= 2 * size
    counted: Counter[int] = Counter()
    for part in found:
        for number, count in zip(*part.to_pydict().values(), strict=True):
            counted[number] += count
    assert set(counted.values()) == {2} and len(counted) == 3 * size
