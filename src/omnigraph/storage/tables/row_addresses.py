"""Rows by where they are: an address is the fragment's number times 2^32, plus the row's place in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.storage import filters
from omnigraph.storage.filters import OneOf
from omnigraph.storage.lance_errors import translate_errors

_ADDRESS = "_rowaddr"
_FRAGMENT_SHIFT = 32


def ids_with_addresses(
    dataset: Any, fragments: Sequence[int]
) -> Iterator[tuple[pa.Array, pa.Array, pa.Array]]:
    """Yield the ids of the rows of some fragments, with the fragment and the address of each."""
    parts = [dataset.get_fragment(number) for number in fragments]
    with translate_errors("scanning ids", reading=True):
        scan = dataset.scanner(columns=["id"], fragments=parts, with_row_address=True)
        for batch in scan.to_batches():
            addresses = np.asarray(batch.column(_ADDRESS).to_numpy(zero_copy_only=False), dtype=np.uint64)
            numbers = (addresses >> np.uint64(_FRAGMENT_SHIFT)).astype(np.int32)
            yield batch.column("id"), pa.array(numbers), pa.array(addresses.view(np.int64))


def delete_at(dataset: Any, fragment: int, addresses: pa.ChunkedArray) -> str | None:
    """Mark rows of a fragment as deleted in a new file; return the fragment as text, None if it is empty."""
    with translate_errors("deleting rows"):
        left = dataset.get_fragment(fragment).delete(filters.as_sql(OneOf(_ADDRESS, addresses)))
    return None if left is None else json.dumps(left.to_json())
