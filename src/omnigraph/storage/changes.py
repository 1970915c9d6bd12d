"""What differs between two versions of one table, found from their manifests as far as these tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base import telemetry
from omnigraph.base.errors import CorruptState
from omnigraph.storage.filters import OneOf, matching
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables import Table, open_dataset

_UPDATED = "_row_last_updated_at_version"


@dataclass(frozen=True, slots=True)
class RowsChanged:
    """The rows that are new or other than they were, and the ids of those that are gone."""

    rows: pa.Table
    gone: list[str]


def rows_changed(namespace: SnapshotNamespace, before: str, after: str) -> RowsChanged | None:
    """Return what leads from one version to a later one of its lineage; None when columns differ."""
    old, new = (Table(open_dataset(namespace, key), key) for key in (before, after))
    # A blob's bytes are not in the scan, and columns that differ cannot be applied row by row.
    if old.schema != new.schema or any(pa.types.is_struct(item.type) for item in new.schema):
        return None
    if any(is_blob(new, name) for name in new.schema.names):
        return None
    found = candidates(old, new, one_lineage=True)
    rows = take_rows(new, found.new, new.schema.names).cast(new.schema)
    ids = take_rows(old, found.old, ["id"])["id"]
    gone = ids.filter(pc.invert(pc.is_in(ids, rows["id"].combine_chunks())))
    return RowsChanged(rows, gone.to_pylist())


@dataclass(frozen=True, slots=True)
class Candidates:
    """Row ids of the rows, of each version, that may differ from the other version's; all others are equal.

    A row id is Lance's own number of a row and means something only together with its version.
    """

    old: NDArray[np.uint64]
    new: NDArray[np.uint64]


def candidates(
    old: Table | None,
    new: Table | None,
    *,
    by_files: bool = True,
    one_lineage: bool = False,
    only_new: Sequence[str] = (),
) -> Candidates:
    """Return the rows that two versions of one table may not have in common, without reading any column.

    With `by_files`, a data file that both versions name holds equal rows in both; where they delete different
    rows of it, those are candidates. Files are compared by path: fragment numbers mean different things in
    different lineages. With `one_lineage`, where the new version grew out of the old one, rows that were only
    moved (by compaction) are recognised by their row ids and by the version that last updated them.
    """
    sides = _Side.of(old), _Side.of(new)
    shared = sides[0].fragments.keys() & sides[1].fragments.keys() if by_files else set()
    if only_new and new is not None:
        fields = _field_ids(new, only_new)
        shared = {key for key in shared if fields.isdisjoint(_stored_fields(sides[1].fragments[key]))}
    found: list[list[NDArray[np.uint64]]] = [[], []]
    for key in sorted(shared):
        pair = sides[0].fragments[key], sides[1].fragments[key]
        if _deletions(pair[0]) != _deletions(pair[1]):
            for place, rows in enumerate(_only_in_one(*pair)):
                found[place].append(rows)
    updated: list[NDArray[np.uint64]] = []
    for place, side in enumerate(sides):
        alone = [fragment for key, fragment in side.fragments.items() if key not in shared]
        rows, versions = side.row_ids(alone)
        found[place].append(rows)
        if place == 1:
            updated = [np.full(len(part), _NEVER, np.uint64) for part in found[1][:-1]]
            updated.append(versions)
    result = Candidates(_joined(found[0]), _joined(found[1]))
    if one_lineage and old is not None and len(result.old) and len(result.new):
        result = _without_moved(result, _joined(updated), int(old.dataset.version))
    telemetry.count("changes.candidates", len(result.old) + len(result.new))
    return result


def candidates_through(base: Table, old: Table, new: Table) -> Candidates:
    """Return the same for two versions that both grew out of a third, whatever either has rewritten since.

    A row that neither has touched since then is equal in both, and has the row id that it had there.
    """
    to_old, to_new = (candidates(base, version, one_lineage=True) for version in (old, new))
    result = Candidates(
        np.union1d(to_old.new, np.setdiff1d(to_new.old, to_old.old)),
        np.union1d(to_new.new, np.setdiff1d(to_old.old, to_new.old)),
    )
    telemetry.count("changes.candidates_through", len(result.old) + len(result.new))
    return result


def take_rows(table: Table, rows: NDArray[np.uint64], columns: Sequence[str]) -> pa.Table:
    """Return columns of rows by row id, in the order asked for; blobs as bytes."""
    telemetry.count("changes.rows_read", len(rows))
    found = _taken(table, rows, columns)
    for place, name in enumerate(columns):
        if is_blob(table, name):
            held = pa.field(name, pa.large_binary())
            found = found.set_column(place, held, pa.array(read_blobs(table, rows, name), pa.large_binary()))
    return found


def is_blob(table: Table, column: str) -> bool:
    """Say whether the values of a column lie in files of their own."""
    return isinstance(table.schema.field(column).type, pa.BaseExtensionType)


def blob_sizes(table: Table, rows: NDArray[np.uint64], column: str) -> NDArray[np.uint64]:
    """Return how long the blobs of rows are, without reading them; a missing one has no length."""
    described = _taken(table, rows, [column])[column].combine_chunks()
    sizes = pc.fill_null(pc.struct_field(described, "size"), 0)
    return np.asarray(sizes.to_numpy(zero_copy_only=False), np.uint64)


def read_blobs(table: Table, rows: NDArray[np.uint64], column: str) -> list[bytes | None]:
    """Return the bytes of blobs by row id, in the order asked for."""
    if not len(rows):
        return []
    with translated("reading blobs", reading=True):
        read = table.dataset.read_blobs(column, ids=pa.array(rows, pa.uint64()), preserve_order=True)
    return [held for _, held in read]


def find_rows(table: Table, ids: pa.Array) -> tuple[pa.Array, NDArray[np.uint64]]:
    """Return those of the ids that a version holds, and their row ids."""
    with translated("looking up rows", reading=True):
        found = matching(table.dataset, ["id"], OneOf("id", ids), with_row_id=True)
    return found["id"].combine_chunks(), found["_rowid"].to_numpy()


_NEVER = np.iinfo(np.uint64).max
_NONE: NDArray[np.uint64] = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class _Side:
    dataset: Any
    fragments: dict[str, Any]
    """By their files, whose names are random."""

    @staticmethod
    def of(table: Table | None) -> _Side:
        if table is None:
            return _Side(None, {})
        return _Side(table.dataset, {_files(item): item for item in table.dataset.get_fragments()})

    def row_ids(self, fragments: list[Any]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the row ids of live rows and the versions that last updated them, from metadata alone."""
        if not fragments:
            return _NONE, _NONE
        with translated("listing the rows of fragments", reading=True):
            rows = self.dataset.scanner(columns=[_UPDATED], with_row_id=True, fragments=fragments).to_table()
        return rows["_rowid"].to_numpy(), rows[_UPDATED].to_numpy().astype(np.uint64)


def _files(fragment: Any) -> str:
    stored = fragment.metadata.to_json()
    return json.dumps([stored["files"], stored.get("overlays")], sort_keys=True)


def _stored_fields(fragment: Any) -> set[int]:
    return {field for file in fragment.metadata.files for field in file.fields}


def _field_ids(table: Table, columns: Sequence[str]) -> set[int]:
    fields = [table.dataset.lance_schema.field(name) for name in columns]
    return {field.id() for field in fields} | {child.id() for field in fields for child in field.children()}


def _deletions(fragment: Any) -> str | None:
    # The name ends in a random number, and begins with a fragment's, which lineages give differently.
    name: str | None = fragment.deletion_file()
    return name.rsplit("/", 1)[-1].split("-", 1)[1] if name else None


def _only_in_one(old: Any, new: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the row ids of rows of a shared fragment that only one version has not deleted."""
    (old_rows, old_places), (new_rows, new_places) = _places(old), _places(new)
    live = np.zeros((2, old.physical_rows), np.bool_)
    live[0, old_places] = live[1, new_places] = True
    return old_rows[~live[1, old_places]], new_rows[~live[0, new_places]]


def _places(fragment: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    with translated("listing the rows of a fragment", reading=True):
        rows = fragment.scanner(columns=[], with_row_id=True, with_row_address=True).to_table()
    return rows["_rowid"].to_numpy(), rows["_rowaddr"].to_numpy() & np.uint64(0xFFFFFFFF)


def _without_moved(found: Candidates, updated: NDArray[np.uint64], version: int) -> Candidates:
    _, old_places, new_places = np.intersect1d(found.old, found.new, assume_unique=True, return_indices=True)
    moved = updated[new_places] <= version
    return Candidates(
        np.delete(found.old, old_places[moved]),
        np.delete(found.new, new_places[moved]),
    )


def _joined(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.concatenate(parts) if parts else _NONE


def _taken(table: Table, rows: NDArray[np.uint64], columns: Sequence[str]) -> pa.Table:
    with translated("reading rows", reading=True):
        found = table.dataset._take_rows(pa.array(rows, pa.uint64()), columns=list(columns))
    if found.num_rows != len(rows):
        raise CorruptState(
            f"{len(rows)} rows were asked for and {found.num_rows} came: the table is damaged", rows=len(rows)
        )
    return found
