"""Finding rows of one table version through its text and vector indexes, whatever part those cover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance.dataset import serialize_row_addrs
from lance.query import MatchQuery

from omnigraph.base import telemetry
from omnigraph.storage.filters import Filter, as_sql
from omnigraph.storage.indexes.analyser import tokens
from omnigraph.storage.indexes.indexes import IndexKind, TableIndex
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.tables.table import Table

Numbers = npt.NDArray[np.uint64]

ID, DISTANCE, ROW_ID, ROW_ADDRESS = "id", "_distance", "_rowid", "_rowaddr"
PROBES = 20
"""Partitions that a search without a filter looks into; recall is 0.98 on vectors without any structure."""
_SCORE = "_score"
_MAX_TIMES_ALL_ROWS = 4
"""How many times a table's rows a search asks for before what it has found is all."""
_TIE_ROWS = 16
"""Rows beyond those asked for, in which a tie at the last place shows."""
_EQUAL_DISTANCE = 1e-5
"""Distances that single precision may have moved apart by so much are taken for equal."""


def index_of(table: Table, column: str, kind: IndexKind) -> TableIndex | None:
    """Return a column's index of a kind, when the table version has one."""
    return next((item for item in table.indexes if (item.column, item.kind) == (column, kind)), None)


def nearest(
    table: Table,
    column: str,
    vector: Sequence[float] | npt.NDArray[np.floating[Any]],
    k: int,
    filter: Filter | None = None,
    allowed: Numbers | None = None,
    columns: Sequence[str] = (ID,),
) -> pa.Table | None:
    """Return the `k` rows nearest to a vector by cosine, nearest first; None when there is no index.

    Those that are as near as the last of them come too, however many they are. They have the columns
    asked for, `_distance`, `_rowid` and `_rowaddr`. A filter, or the row ids that are allowed, apply before
    the ranking. Rows without a vector, or with the zero vector, are never among them; where that leaves fewer
    than `k`, measure all rows instead.
    """
    index = index_of(table, column, IndexKind.VECTOR)
    if index is None:
        return None
    probes = _probes(index, filter is not None, allowed)
    only = None if allowed is None else serialize_row_addrs(np.asarray(allowed).tolist())
    rows, wanted = index.rows_covered + index.rows_uncovered, k + _TIE_ROWS
    while True:
        found = _nearest(table, column, vector, wanted, probes, filter, only, columns)
        found = found.sort_by([(DISTANCE, "ascending"), (ROW_ID, "ascending")])
        enough = _and_ties(found[DISTANCE].to_numpy(), k)
        # Rows that were deleted before a compaction take places in an index until it is folded.
        is_whole = found.num_rows < wanted and (filter is not None or only is not None)
        if k <= enough < found.num_rows or is_whole or wanted >= _MAX_TIMES_ALL_ROWS * rows:
            return found.slice(0, enough)
        wanted *= 2


def _and_ties(distances: npt.NDArray[np.float32], k: int) -> int:
    """Return how many of the distances, which are in order, are not greater than the one at place `k`."""
    if not 0 < k < len(distances):
        return min(k, len(distances))
    return int(np.searchsorted(distances, distances[k - 1] + _EQUAL_DISTANCE, side="right"))


def _nearest(
    table: Table,
    column: str,
    vector: Sequence[float] | npt.NDArray[np.floating[Any]],
    k: int,
    probes: int,
    filter: Filter | None,
    only: bytes | None,
    columns: Sequence[str],
) -> pa.Table:
    asked: dict[str, Any] = {
        "column": column,
        "q": np.asarray(vector, dtype=np.float32),
        "k": k,
        "metric": "cosine",
        "minimum_nprobes": probes,
    }
    with translate_errors(f"searching {column} for its nearest rows", reading=True):
        return table.dataset.scanner(
            columns=[*columns, DISTANCE],
            nearest=asked,
            filter=None if filter is None else as_sql(filter),
            prefilter=True,
            row_addr_allowlist=only,
            with_row_id=True,
            with_row_address=True,
        ).to_table()


def rows_to_look_at(table: Table, column: str, query: str, columns: Sequence[str]) -> pa.Table | None:
    """Return the rows that may hold a word of the query; None without an index.

    They are those that the index names, and all that it does not cover, with some columns, `_rowid` and
    `_rowaddr`. What they really hold is in their texts.
    """
    if index_of(table, column, IndexKind.TEXT) is None:
        return None
    telemetry.count("tables.finds")
    names = [*columns, ROW_ID, ROW_ADDRESS]
    found = [_search_words(table, column, query, columns)] if tokens(query) else []
    covered = _find_covered(table, column)
    with translate_errors(f"searching {column} for words", reading=True):
        rest = [item for item in table.dataset.get_fragments() if item.fragment_id not in covered]
        if rest or not found:
            among = {"fragments": rest} if rest else {"limit": 0}
            unread = table.dataset.scanner(
                columns=list(columns), with_row_id=True, with_row_address=True, **among
            )
            found.append(unread.to_table())
    return pa.concat_tables([item.select(names) for item in found])


def _search_words(table: Table, column: str, query: str, columns: Sequence[str]) -> pa.Table:
    """Return the rows that hold a word of a query, as the index says."""
    with translate_errors(f"searching {column} for words", reading=True):
        found = table.dataset.scanner(
            columns=[*columns, _SCORE],
            full_text_query=MatchQuery(query, column),
            fast_search=True,
            with_row_id=True,
            with_row_address=True,
        ).to_table()
    return found.drop_columns([_SCORE])


def _probes(index: TableIndex, filtered: bool, allowed: Numbers | None) -> int:
    """Return how many partitions to look into: the fewer rows count, the more partitions hold the nearest."""
    partitions = index.partitions or 1
    if filtered or (allowed is not None and len(allowed) == 0):
        return partitions
    if allowed is None:
        return min(partitions, PROBES)
    rows = index.rows_covered + index.rows_uncovered
    return min(partitions, math.ceil(PROBES * rows / len(allowed)))


def _find_covered(table: Table, column: str) -> set[int]:
    return {
        number
        for item in table.dataset.describe_indices()
        if item.index_type == "Inverted" and item.field_names == [column]
        for segment in item.segments
        for number in segment.fragment_ids
    }
