"""What tasks send back arrives as it was sent, in the order of the splits, however Spark orders it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.graph.write.integrity.problems import Problem
from omnigraph.pipeline.workers.outcome import Runs, SplitOutcome, SplitTableOutcome, decode, encode
from omnigraph.storage.tables.staging import StagedFragments


def _table(rows: int, explicit: np.ndarray | None = None) -> SplitTableOutcome:
    places = Runs.of(np.arange(rows, dtype=np.int64))
    return SplitTableOutcome(rows, StagedFragments((), rows), places, explicit)


def _sent(*batches: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches(batches)


def test_an_outcome_arrives_with_its_tables_problems_and_hashes() -> None:
    outcome = SplitOutcome(
        3, records=9, problems=[(2, Problem("range", "Person", "too large"))], total=1, doubtful=True
    )
    outcome.tables["node:Person"] = _table(5)
    hashes = {"node:Person.id": np.array([1, 2**64 - 1], np.uint64)}
    (found,), columns = decode(_sent(*encode(outcome, hashes)))
    assert (found.split, found.records, found.total, found.doubtful) == (3, 9, 1, True)
    assert found.problems == outcome.problems
    assert found.tables["node:Person"].places.places().tolist() == [0, 1, 2, 3, 4]
    (column,) = columns["node:Person.id"]
    assert column.tolist() == [1, 2**64 - 1]


@given(st.permutations(range(4)))
def test_outcomes_are_in_the_order_of_the_splits_whatever_ended_first(order: list[int]) -> None:
    sent = [batch for split in order for batch in encode(SplitOutcome(split, records=split), {})]
    outcomes, hashes = decode(_sent(*sent))
    assert [(item.split, item.records) for item in outcomes] == [(split, split) for split in range(4)]
    assert hashes == {}


def test_hashes_of_one_column_are_gathered_from_all_splits() -> None:
    sent = [
        batch
        for split in range(3)
        for batch in encode(SplitOutcome(split), {"a": np.array([split], np.uint64)})
    ]
    _, hashes = decode(_sent(*sent))
    assert sorted(int(part[0]) for part in hashes["a"]) == [0, 1, 2]


def test_an_error_arrives_as_the_class_and_the_facts_that_it_has() -> None:
    outcome = SplitOutcome(0, error=og.BadInput("no such column", column="age"))
    (found,), _ = decode(_sent(*encode(outcome, {})))
    assert isinstance(found.error, og.BadInput)
    assert (found.error.message, found.error.details) == ("no such column", {"column": "age"})


@given(st.lists(st.booleans(), max_size=40))
def test_the_mask_of_given_ids_is_kept_as_bits(given_ids: list[bool]) -> None:
    mask = np.array(given_ids, dtype=bool)
    table = _table(len(mask), np.packbits(mask))
    assert table.explicit_mask().to_pylist() == given_ids


@pytest.mark.parametrize("rows", [0, 3])
def test_no_mask_says_that_no_id_was_given(rows: int) -> None:
    assert _table(rows).explicit_mask().to_pylist() == [False] * rows
