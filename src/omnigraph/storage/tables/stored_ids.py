"""Which ids a table holds: known from small files that were seen before, else looked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.storage import filters
from omnigraph.storage.filters import OneOf
from omnigraph.storage.tables import file_ids
from omnigraph.storage.tables.written_rows import remember_rows


def find_stored_ids(dataset: Any, table_uri: str, wanted: set[str]) -> set[str]:
    """Return those of the ids that a version of a table holds."""
    stored, suspects = _compare_with_known_files(dataset, table_uri, wanted)
    if suspects:
        among = OneOf("id", pa.array(wanted, pa.string()))
        found = filters.read_filtered(dataset, ["id"], among, fragments=suspects)
        stored.update(found["id"].to_pylist())
    return stored


def remember_written(
    table_uri: str, dataset: Any, rows: pa.Table | pa.RecordBatchReader, written: list[Any]
) -> None:
    """Remember the ids of a small file that has just been written, and the rows of a very small one."""
    if isinstance(rows, pa.Table) and len(written) == 1 and rows.num_rows <= file_ids.MAX_KEPT_ROWS:
        file_ids.known.put(file_ids.files_of(table_uri, written[0]), frozenset(rows["id"].to_pylist()))
        remember_rows(table_uri, dataset, rows, written[0])


def _compare_with_known_files(dataset: Any, table_uri: str, wanted: set[str]) -> tuple[set[str], list[Any]]:
    """Return wanted ids that are surely stored, and the fragments that may hold others."""
    stored: set[str] = set()
    suspects, unread = [], []
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        held = file_ids.known.get(file_ids.files_of(table_uri, metadata))
        if held is None and metadata.physical_rows <= file_ids.MAX_KEPT_ROWS and not metadata.deletion_file:
            unread.append(fragment)
        elif held is None or (metadata.deletion_file and not held.isdisjoint(wanted)):
            # What a scan sees of thinned files is not all that they hold on another branch: not kept.
            suspects.append(fragment)
        elif not metadata.deletion_file:
            stored |= held & wanted
    for held in _read_ids(dataset, table_uri, unread) if unread else ():
        stored |= held & wanted
    return stored, suspects


def _read_ids(dataset: Any, table_uri: str, fragments: list[Any]) -> list[frozenset[str]]:
    """Read the ids of fragments without deletions, and remember them."""
    scan = dataset.scanner(columns=["id"], fragments=fragments, scan_in_order=True)
    column, begin, found = scan.to_table()["id"], 0, []
    for fragment in fragments:
        metadata = fragment.metadata
        found.append(frozenset(column.slice(begin, metadata.physical_rows).to_pylist()))
        file_ids.known.put(file_ids.files_of(table_uri, metadata), found[-1])
        begin += metadata.physical_rows
    return found
