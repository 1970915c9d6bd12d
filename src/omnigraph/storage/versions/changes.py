"""What differs between two versions of one table, found from their manifests as far as these tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base import telemetry
from omnigraph.base.errors import CorruptState
from omnigraph.storage.filters import OneOf, as_sql, read_filtered
from omnigraph.storage.format.deletions import ReadFile, addresses, compare_deletions
from omnigraph.storage.format.row_ids import read_row_ids, read_versions
from omnigraph.storage.format.version_files import path_of
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.numbers import subtract, unite
from omnigraph.storage.tables.columns import LAST_CHANGED
from omnigraph.storage.tables.table import Table

_MAX_ROWS_TO_TAKE = 1_000
"""Up to so many rows are asked for by a filter on their numbers: of a version that was just opened, Lance
reads them three times as fast so as by taking them."""
_MAX_ROWS_IN_MEMORY = 4_000
"""Up to so many rows of fragments are read with their columns while they are listed."""


@dataclass(frozen=True, slots=True)
class RowsChanged:
    """The rows that are new or other than they were, and the ids of those that are gone."""

    rows: pa.Table
    gone: list[str]


def rows_changed(namespace: SnapshotNamespace, before: str, after: str) -> RowsChanged | None:
    """Return what leads from one version to a later one of its lineage; None when columns differ."""
    old, new = (Table(namespace, key) for key in (before, after))
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
    held: tuple[pa.Table | None, pa.Table | None] = (None, None)
    """The columns asked for and `_rowid` of at least these rows of each version, where they came at once."""


def candidates(
    old: Table | None,
    new: Table | None,
    *,
    by_files: bool = True,
    one_lineage: bool = False,
    only_new: Sequence[str] = (),
    read: ReadFile | None = None,
    columns: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> Candidates:
    """Return the rows that two versions of one table may not have in common, without reading any column.

    `columns` of each version are read at once where the rows are few. With `read`, deleted rows are known
    from their files; without, the rows of a fragment are listed.

    With `by_files`, a data file that both versions name holds equal rows in both; where they delete different
    rows of it, those are candidates. Files are compared by path: fragment numbers mean different things in
    different lineages. With `one_lineage`, where the new version grew out of the old one, rows that were only
    moved (by compaction) are recognised by their row ids and by the version that last updated them.
    """
    compares_versions = one_lineage and old is not None
    sides = _ChangedSide.of(old, columns[0]), _ChangedSide.of(new, columns[1], compares_versions)
    shared = sides[0].fragments.keys() & sides[1].fragments.keys() if by_files else set()
    if only_new and new is not None:
        fields = _field_ids(new, only_new)
        shared = {key for key in shared if fields.isdisjoint(_list_stored_fields(sides[1].fragments[key]))}
    pairs = [(sides[0].fragments[key], sides[1].fragments[key]) for key in sorted(shared)]
    pairs = [pair for pair in pairs if _deletions(pair[0]) != _deletions(pair[1])]
    deleted = _only_in_one(sides, pairs, read)
    alone = [
        side.rows_of([item for key, item in side.fragments.items() if key not in shared]) for side in sides
    ]
    result = Candidates(
        _join([deleted[0].rows, alone[0].rows]),
        _join([deleted[1].rows, alone[1].rows]),
        (_take_held(deleted[0], alone[0]), _take_held(deleted[1], alone[1])),
    )
    updated = [np.full(len(deleted[1].rows), _NEVER, np.uint64), alone[1].updated]
    if one_lineage and old is not None and len(result.old) and len(result.new):
        result = _without_moved(result, _join(updated), int(old.dataset.version))
    telemetry.count("changes.candidates", len(result.old) + len(result.new))
    return result


def candidates_through(base: Table, old: Table, new: Table) -> Candidates:
    """Return the same for two versions that both grew out of a third, whatever either has rewritten since.

    A row that neither has touched since then is equal in both, and has the row id that it had there.
    """
    to_old, to_new = (candidates(base, version, one_lineage=True) for version in (old, new))
    result = Candidates(
        unite(to_old.new, subtract(to_new.old, to_old.old)),
        unite(to_new.new, subtract(to_old.old, to_new.old)),
    )
    telemetry.count("changes.candidates_through", len(result.old) + len(result.new))
    return result


def take_rows(table: Table, rows: NDArray[np.uint64], columns: Sequence[str]) -> pa.Table:
    """Return columns of rows by row id, in the order asked for; blobs as bytes."""
    telemetry.count("changes.rows_read", len(rows))
    found = _take(table, rows, columns)
    for place, name in enumerate(columns):
        if is_blob(table, name):
            held = pa.field(name, pa.large_binary())
            found = found.set_column(place, held, pa.array(read_blobs(table, rows, name), pa.large_binary()))
    return found


def is_blob(table: Table, column: str) -> bool:
    """Return whether the values of a column lie in files of their own."""
    return isinstance(table.schema.field(column).type, pa.BaseExtensionType)


def blob_sizes(table: Table, rows: NDArray[np.uint64], column: str) -> NDArray[np.uint64]:
    """Return how long the blobs of rows are, without reading them; a missing one has no length."""
    described = _take(table, rows, [column])[column].combine_chunks()
    sizes = pc.fill_null(pc.struct_field(described, "size"), 0)
    return np.asarray(sizes.to_numpy(zero_copy_only=False), np.uint64)


def read_blobs(table: Table, rows: NDArray[np.uint64], column: str) -> list[bytes | None]:
    """Return the bytes of blobs by row id, in the order asked for."""
    if not len(rows):
        return []
    with translate_errors("reading blobs", reading=True):
        read = table.dataset.read_blobs(column, ids=pa.array(rows, pa.uint64()), preserve_order=True)
    return [held for _, held in read]


def find_rows(table: Table, ids: pa.Array) -> tuple[pa.Array, NDArray[np.uint64]]:
    """Return those of the ids that a version holds, and their row ids."""
    with translate_errors("looking up rows", reading=True):
        found = read_filtered(table.dataset, ["id"], OneOf("id", ids), with_row_id=True)
    return found["id"].combine_chunks(), found["_rowid"].to_numpy()


_NEVER = np.iinfo(np.uint64).max


def _none() -> NDArray[np.uint64]:
    return np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Rows by their row ids, the versions that last updated them, and their columns if they came at once."""

    rows: NDArray[np.uint64] = field(default_factory=_none)
    updated: NDArray[np.uint64] = field(default_factory=_none)
    held: pa.Table | None = None

    @staticmethod
    def join(parts: Sequence[_Listed]) -> _Listed:
        """Return the rows of several as one; all of them came with their columns."""
        held = pa.concat_tables([item.held for item in parts])
        return _Listed(_join([item.rows for item in parts]), _join([item.updated for item in parts]), held)


@dataclass(frozen=True, slots=True)
class _ChangedSide:
    dataset: Any
    fragments: dict[str, Any]
    """By their files, whose names are random."""
    columns: Sequence[str] = ()
    tells_updated: bool = False
    """Whether rows are listed with the versions that last updated them, a fifth of the cost."""

    @staticmethod
    def of(table: Table | None, columns: Sequence[str], tells_updated: bool = False) -> _ChangedSide:
        if table is None:
            return _ChangedSide(None, {})
        found = {_files(item): item for item in table.dataset.get_fragments()}
        return _ChangedSide(table.dataset, found, columns, tells_updated)

    def rows_of(self, fragments: list[Any]) -> _Listed:
        """Return the live rows of fragments, from metadata alone when they are many."""
        if not fragments:
            return _Listed()
        count = sum(fragment.physical_rows for fragment in fragments)
        with translate_errors("listing the rows of fragments", reading=True):
            if count <= _MAX_ROWS_TO_TAKE and self.columns:
                taken = [self._take_all(fragment) for fragment in fragments]
                whole = [item for item in taken if item is not None]
                if len(whole) == len(taken):
                    return _Listed.join(whole)
            return self._list_rows(count <= _MAX_ROWS_IN_MEMORY, fragments=fragments)

    def rows_at(self, places: NDArray[np.uint64]) -> _Listed:
        """Return the rows in a few places."""
        if not len(places):
            return _Listed()
        with translate_errors("listing deleted rows", reading=True):
            return self._list_rows(True, filter=as_sql(OneOf("_rowaddr", pa.array(places, pa.uint64()))))

    def _take_all(self, fragment: Any) -> _Listed | None:
        """Return the rows of a small fragment by its metadata, at a third of a scan's cost; None in doubt."""
        stored = fragment.metadata
        if stored.deletion_file is not None or stored.overlays:
            return None
        count, said = fragment.physical_rows, stored.to_json()
        numbers = said.get("row_id_meta") or {}
        rows = read_row_ids(bytes(numbers.get("Inline", ())), count)
        updated: NDArray[np.uint64] | None = np.full(count, _NEVER, np.uint64)
        if self.tells_updated:
            versions = said.get("last_updated_at_version_meta") or {}
            updated = read_versions(bytes(versions.get("inline", ())), count)
        if rows is None or updated is None:
            return None
        found = fragment.take(list(range(count)), columns=list(self.columns))
        return _Listed(rows, updated, found.append_column("_rowid", pa.array(rows)))

    def _list_rows(self, few: bool, **chosen: Any) -> _Listed:
        columns = list(self.columns) if few else []
        asked = [*columns, LAST_CHANGED] if self.tells_updated else columns
        found = self.dataset.scanner(columns=asked, with_row_id=True, **chosen).to_table()
        held, rows = found.select([*columns, "_rowid"]) if columns else None, found["_rowid"].to_numpy()
        if not self.tells_updated:
            return _Listed(rows, np.full(len(rows), _NEVER, np.uint64), held)
        return _Listed(rows, found[LAST_CHANGED].to_numpy().astype(np.uint64), held)


def _files(fragment: Any) -> str:
    # As JSON it would hold the numbers of all rows, which grow with the table.
    stored = fragment.metadata
    if stored.overlays:
        said = stored.to_json()
        return json.dumps([said["files"], said["overlays"]], sort_keys=True)
    return repr([(path_of(file), file.fields, file.column_indices) for file in stored.files])


def _list_stored_fields(fragment: Any) -> set[int]:
    return {field for file in fragment.metadata.files for field in file.fields}


def _field_ids(table: Table, columns: Sequence[str]) -> set[int]:
    fields = [table.dataset.lance_schema.field(name) for name in columns]
    return {field.id() for field in fields} | {child.id() for field in fields for child in field.children()}


def _deletions(fragment: Any) -> str | None:
    # The name ends in a random number, and begins with a fragment's, which lineages give differently.
    name: str | None = fragment.deletion_file()
    return name.rsplit("/", 1)[-1].split("-", 1)[1] if name else None


def _only_in_one(
    sides: tuple[_ChangedSide, _ChangedSide], pairs: Sequence[tuple[Any, Any]], read: ReadFile | None
) -> tuple[_Listed, _Listed]:
    """Return the rows of shared fragments that only one of the two versions has not deleted."""
    known = [compare_deletions(*pair, read) if read is not None else None for pair in pairs]
    if pairs and all(item is not None and len(item[0]) + len(item[1]) <= _MAX_ROWS_TO_TAKE for item in known):
        places: tuple[list[NDArray[np.uint64]], ...] = ([], [])
        for (old, new), item in zip(pairs, known, strict=True):
            assert item is not None
            places[0].append(addresses(old, item[1]))
            places[1].append(addresses(new, item[0]))
        if all(sum(map(len, some)) <= _MAX_ROWS_TO_TAKE for some in places):
            return sides[0].rows_at(_join(places[0])), sides[1].rows_at(_join(places[1]))
    listed = [_compare_by_listing(*pair) for pair in pairs]
    old_rows, new_rows = (_join([item[place] for item in listed]) for place in (0, 1))
    return _Listed(old_rows), _Listed(new_rows)


def _take_held(*parts: _Listed) -> pa.Table | None:
    """Return the columns of all parts, when they all came with their columns."""
    some = [part.held for part in parts if len(part.rows)]
    held = [item for item in some if item is not None]
    return pa.concat_tables(held) if held and len(held) == len(some) else None


def _compare_by_listing(old: Any, new: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Find the same by listing all rows of both versions of a fragment."""
    (old_rows, old_places), (new_rows, new_places) = _places(old), _places(new)
    live = np.zeros((2, old.physical_rows), np.bool_)
    live[0, old_places] = live[1, new_places] = True
    return old_rows[~live[1, old_places]], new_rows[~live[0, new_places]]


def _places(fragment: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    with translate_errors("listing the rows of a fragment", reading=True):
        rows = fragment.scanner(columns=[], with_row_id=True, with_row_address=True).to_table()
    return rows["_rowid"].to_numpy(), rows["_rowaddr"].to_numpy() & np.uint64(0xFFFFFFFF)


def _without_moved(found: Candidates, updated: NDArray[np.uint64], version: int) -> Candidates:
    _, old_places, new_places = np.intersect1d(found.old, found.new, assume_unique=True, return_indices=True)
    moved = updated[new_places] <= version
    return replace(
        found, old=np.delete(found.old, old_places[moved]), new=np.delete(found.new, new_places[moved])
    )


def _join(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.concatenate(parts) if parts else _none()


def _take(table: Table, rows: NDArray[np.uint64], columns: Sequence[str]) -> pa.Table:
    with translate_errors("reading rows", reading=True):
        if len(rows) <= _MAX_ROWS_TO_TAKE and not any(is_blob(table, name) for name in columns):
            found = _list_fragment_rows(table, rows, columns)
        else:
            found = table.dataset._take_rows(pa.array(rows, pa.uint64()), columns=list(columns))
    if found.num_rows != len(rows):
        raise CorruptState(
            f"{len(rows)} rows were asked for and {found.num_rows} came: the table is damaged", rows=len(rows)
        )
    return found


def _list_fragment_rows(table: Table, rows: NDArray[np.uint64], columns: Sequence[str]) -> pa.Table:
    wanted = pa.array(rows, pa.uint64())
    said = as_sql(OneOf("_rowid", wanted))
    found = table.dataset.scanner(columns=list(columns), filter=said, with_row_id=True).to_table()
    places = pc.index_in(wanted, value_set=found["_rowid"].combine_chunks())
    return found.select(list(columns)).take(places.drop_null())
