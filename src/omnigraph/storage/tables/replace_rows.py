"""Replacing few rows by Lance's own numbers: one new version, and nothing is searched for by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.storage.filters import OneOf, as_sql
from omnigraph.storage.numbers import unite

MAX_ROWS_BY_ADDRESS = 1_000
"""Up to so many rows are told by a list of their numbers."""


def places_of(dataset: Any, ids: pa.Array, rows: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """Return the addresses of rows; None when these are not the rows with these ids."""
    wanted = pa.array(rows, pa.uint64())
    said = as_sql(OneOf("_rowid", wanted))
    found = dataset.scanner(columns=["id"], filter=said, with_row_id=True, with_row_address=True).to_table()
    places = pc.index_in(wanted, value_set=found["_rowid"].combine_chunks())
    if places.null_count or not found["id"].combine_chunks().take(places).equals(ids):
        return None
    return np.asarray(found["_rowaddr"].to_numpy(), np.uint64)


def replace_rows(dataset: Any, places: NDArray[np.uint64], new: Sequence[Any]) -> Any:
    """Return the version without the rows in some places and with new fragments."""
    updated, removed = [], []
    fragments = places >> np.uint64(32)
    for number in unite(fragments).tolist():
        offsets = places[fragments == number] & np.uint64(0xFFFFFFFF)
        left = dataset.get_fragment(number).delete_rows(offsets.tolist())
        if left is None:
            removed.append(number)
        else:
            updated.append(left)
    return lance.LanceDataset.commit(
        dataset,
        lance.LanceOperation.Update(
            removed_fragment_ids=removed, updated_fragments=updated, new_fragments=list(new)
        ),
        read_version=dataset.version,
        max_retries=0,
    )
