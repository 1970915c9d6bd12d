"""What a text index alone says about a word, apart from the fragments that it does not cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from lance.query import MatchQuery

from omnigraph.storage.tables.table import Table


@dataclass(frozen=True)
class TextRows:
    """The rows that hold a word, among those that an index covers, and where else to look."""

    addresses: npt.NDArray[np.uint64]
    """Sorted; an address is the fragment's number times 2^32, plus the row's place in the fragment."""
    unread: tuple[int, ...]
    """The numbers of fragments that the index does not cover."""


def rows_with_words(table: Table, column: str, query: str) -> TextRows | None:
    """Return the rows that hold a word of the query; None without an index."""
    indexes = [item for item in table.dataset.describe_indices() if item.index_type == "Inverted"]
    segments = [part for item in indexes if item.field_names == [column] for part in item.segments]
    if not segments:
        return None
    covered = {number for segment in segments for number in segment.fragment_ids}
    found = table.dataset.scanner(
        columns=["_score"],
        full_text_query=MatchQuery(query, column),
        fast_search=True,
        with_row_address=True,
    ).to_table()
    return TextRows(
        np.sort(np.asarray(found["_rowaddr"].to_numpy(), dtype=np.uint64)),
        tuple(item.number for item in table.fragments() if item.number not in covered),
    )
