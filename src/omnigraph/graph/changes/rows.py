"""The rows that differ between two versions of one table, by id, at a cost that follows the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import telemetry
from omnigraph.graph.changes.equality import Mask, equal_values
from omnigraph.graph.changes.pairing import ColumnPair, files_decide, pair_columns, same_columns
from omnigraph.graph.changes.table_version import RowIds, TableVersion, order_of
from omnigraph.storage.numbers import unite
from omnigraph.storage.versions.changes import (
    Candidates,
    blob_sizes,
    candidates,
    candidates_through,
    is_blob,
    read_blobs,
    take_rows,
)

_ROWS_PER_PIECE = 1_000_000
"""Candidates that are matched at a time."""
_ROWS_PER_COMPARISON = 20_000
"""Rows whose columns are compared at a time."""
_MAX_ROWS_TO_LOOK_UP = 10_000
"""Up to so many candidates are simply compared; for more it pays to look for a common origin."""
_BLOB_BYTES = 32 * 1024 * 1024
_SAMPLES_PER_PART = 64
_MAX_ROWS_IN_MEMORY = 4_000
"""Up to so many candidates are read whole: many small reads would cost more than the columns."""

_NO_ROWS: RowIds = np.empty(0, np.uint64)
_NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class ChangedRows:
    """Ids by what happened to them, each list sorted; and the images, on request."""

    before: TableVersion | None
    after: TableVersion | None
    inserted: pa.Array
    deleted: pa.Array
    updated: pa.Array
    inserted_rows: RowIds
    """Row ids in `after`, beside `inserted`."""
    deleted_rows: RowIds
    """Row ids in `before`, beside `deleted`."""
    updated_rows: tuple[RowIds, RowIds]
    """Row ids in `before` and in `after`, beside `updated`."""
    held: tuple[pa.Table | None, pa.Table | None] = (None, None)
    """Whole rows of `before` and of `after`, where they were read at once."""

    def __len__(self) -> int:
        return len(self.inserted) + len(self.deleted) + len(self.updated)

    def only(self, is_wanted: Callable[[pa.Array], pa.Array]) -> ChangedRows:
        """Return the changes to some of the entities."""
        inserted, updated, deleted = (is_wanted(ids) for ids in (self.inserted, self.updated, self.deleted))
        masks = [np.asarray(mask.to_numpy(zero_copy_only=False)) for mask in (inserted, updated, deleted)]
        old, new = self.updated_rows
        return replace(
            self,
            inserted=self.inserted.filter(inserted),
            inserted_rows=self.inserted_rows[masks[0]],
            updated=self.updated.filter(updated),
            updated_rows=(old[masks[1]], new[masks[1]]),
            deleted=self.deleted.filter(deleted),
            deleted_rows=self.deleted_rows[masks[2]],
        )

    def before_images(self, ids: pa.Array) -> pa.Table:
        """Return the older rows of deleted or updated ids, in the order asked for; blobs as bytes."""
        assert self.before is not None
        if self.held[0] is not None:
            return _by_id(self.held[0], ids)
        known = pa.concat_arrays([self.deleted, self.updated])
        rows = np.concatenate([self.deleted_rows, self.updated_rows[0]])
        return self.before.images(_look_up(ids, known, rows))

    def after_images(self, ids: pa.Array) -> pa.Table:
        """Return the newer rows of inserted or updated ids, in the order asked for; blobs as bytes."""
        assert self.after is not None
        if self.held[1] is not None:
            return _by_id(self.held[1], ids)
        return self.after.images(self._rows_after(ids))

    def after_columns(self, ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return some columns of the newer rows."""
        assert self.after is not None
        if self.held[1] is not None:
            return _by_id(self.held[1].select(columns), ids)
        return take_rows(self.after.rows, self._rows_after(ids), columns)

    def _rows_after(self, ids: pa.Array) -> RowIds:
        known = pa.concat_arrays([self.inserted, self.updated])
        return _look_up(ids, known, np.concatenate([self.inserted_rows, self.updated_rows[1]]))


NOTHING_CHANGED = ChangedRows(None, None, _NO_IDS, _NO_IDS, _NO_IDS, _NO_ROWS, _NO_ROWS, (_NO_ROWS, _NO_ROWS))
"""What differs between two versions that are both missing."""


def find_changed_rows(
    before: TableVersion | None,
    after: TableVersion | None,
    *,
    one_lineage: bool = False,
    common_id: int | None = None,
    origin: Callable[[], TableVersion | None] | None = None,
) -> ChangedRows:
    """Return all that differs between two versions of one table; a missing version has no rows.

    `one_lineage` says that the newer version is known to have grown out of the older one. `common_id` is for
    versions of branches that have both changed their schema: `pair_columns` says what it is. `origin` finds a
    version that both are known to have grown out of.
    """
    found = find_changed_pieces(before, after, one_lineage=one_lineage, common_id=common_id, origin=origin)
    pieces = list(found)
    if len(pieces) == 1:
        return pieces[0]
    return ChangedRows(
        before,
        after,
        pa.concat_arrays([piece.inserted for piece in pieces]) if pieces else _NO_IDS,
        pa.concat_arrays([piece.deleted for piece in pieces]) if pieces else _NO_IDS,
        pa.concat_arrays([piece.updated for piece in pieces]) if pieces else _NO_IDS,
        np.concatenate([_NO_ROWS, *(piece.inserted_rows for piece in pieces)]),
        np.concatenate([_NO_ROWS, *(piece.deleted_rows for piece in pieces)]),
        (
            np.concatenate([_NO_ROWS, *(piece.updated_rows[0] for piece in pieces)]),
            np.concatenate([_NO_ROWS, *(piece.updated_rows[1] for piece in pieces)]),
        ),
    )


def find_changed_pieces(
    before: TableVersion | None,
    after: TableVersion | None,
    *,
    one_lineage: bool = False,
    common_id: int | None = None,
    origin: Callable[[], TableVersion | None] | None = None,
    piece_rows: int = _ROWS_PER_PIECE,
) -> Iterator[ChangedRows]:
    """Yield what differs, in pieces that follow each other in the order of ids and fit into memory.

    The arguments are those of `find_changed_rows`.
    """
    if before is not None and after is not None and _is_unchanged(before, after):
        return
    pairs = pair_columns(before.type, after.type, common_id) if before and after else []
    found = _candidates(before, after, pairs, one_lineage, origin)
    total = len(found.old) + len(found.new)
    if total == 0:
        return
    if total <= _MAX_ROWS_IN_MEMORY and all(
        version is None or version.holdable for version in (before, after)
    ):
        piece = _match_at_once(before, after, pairs, found)
        if len(piece):
            yield piece
        return
    bounds = _bounds(before, after, found.old, found.new, -(-total // piece_rows))
    old_parts = _partition(before, found.old, bounds)
    new_parts = _partition(after, found.new, bounds)
    for old, new in zip(old_parts, new_parts, strict=True):
        piece = _match(before, after, pairs, old, new)
        if len(piece):
            yield piece


def _candidates(
    before: TableVersion | None,
    after: TableVersion | None,
    pairs: list[ColumnPair],
    one_lineage: bool,
    origin: Callable[[], TableVersion | None] | None,
) -> Candidates:
    found = candidates(
        before.rows if before else None,
        after.rows if after else None,
        by_files=files_decide(pairs),
        only_new=[pair.new for pair in pairs if pair.added is not None],
        one_lineage=one_lineage and before is not None and after is not None and _moves_alike(before, after),
        read=after.read if after else None,
        columns=(before.holdable if before else (), after.holdable if after else ()),
    )
    few = len(found.old) + len(found.new) <= _MAX_ROWS_TO_LOOK_UP
    if few or one_lineage or origin is None or before is None or after is None:
        return found
    base = origin()
    if base is None or not (same_columns(base.type, before.type) and same_columns(base.type, after.type)):
        return found
    return candidates_through(base.rows, before.rows, after.rows)


def _is_unchanged(before: TableVersion, after: TableVersion) -> bool:
    # Maintenance keeps `changed_by`, so the same commit means the same rows.
    same = before.entry.changed_by == after.entry.changed_by or before.entry.pin == after.entry.pin
    return same and before.sight == after.sight and same_columns(before.type, after.type)


def _moves_alike(before: TableVersion, after: TableVersion) -> bool:
    return same_columns(before.type, after.type) and before.entry.pin.version < after.entry.pin.version


def _match_at_once(
    before: TableVersion | None, after: TableVersion | None, pairs: list[ColumnPair], found: Candidates
) -> ChangedRows:
    """Read few candidates whole, once, and match and compare what was read."""
    olds, old = _read_whole_rows(before, found.old, found.held[0])
    news, new = _read_whole_rows(after, found.new, found.held[1])
    places = pc.index_in(_ids(news), value_set=_ids(olds))
    in_both = _as_mask(places.is_valid())
    at_old = np.asarray(places.drop_null(), np.int64)
    changed: Mask = np.zeros(len(at_old), np.bool_)
    left, right = olds.take(pa.array(at_old)), news.filter(pa.array(in_both))
    for pair in pairs if len(at_old) else ():
        values = right[pair.new].combine_chunks()
        before_values = (
            pair.default_values(len(at_old)) if pair.old is None else left[pair.old].combine_chunks()
        )
        if pair.old is not None and pair.cast is not None:
            before_values = before_values.cast(pair.cast)
        changed |= ~equal_values(before_values, values)
    gone = ~_as_mask(pc.is_in(_ids(olds), value_set=_ids(news)))
    return ChangedRows(
        before,
        after,
        inserted=_ids(news).filter(pa.array(~in_both)),
        deleted=_ids(olds).filter(pa.array(gone)),
        updated=_ids(right).filter(pa.array(changed)),
        inserted_rows=new[~in_both],
        deleted_rows=old[gone],
        updated_rows=(old[at_old][changed], new[in_both][changed]),
        held=(olds, news),
    )


def _read_whole_rows(
    version: TableVersion | None, rows: RowIds, held: pa.Table | None
) -> tuple[pa.Table, RowIds]:
    """Return rows whole, sorted by id; those that came with the candidates are not read again."""
    if version is None:
        return pa.table({"id": _NO_IDS}), _NO_ROWS
    if not len(rows):
        return pa.schema([version.rows.schema.field(name) for name in version.columns]).empty_table(), rows
    if held is not None:
        places = pc.index_in(pa.array(rows, pa.uint64()), value_set=held["_rowid"].combine_chunks())
        held = held.take(places).drop(["_rowid"])
        telemetry.count("changes.rows_read", len(rows))
    found = held if held is not None else version.images(rows)
    order = order_of(_ids(found))
    return found.take(pa.array(order)), rows[order]


def _match(
    before: TableVersion | None, after: TableVersion | None, pairs: list[ColumnPair], old: RowIds, new: RowIds
) -> ChangedRows:
    """Match candidates by id and compare those that both versions have."""
    old_ids, old = _sort_ids(before, old)
    new_ids, new = _sort_ids(after, new)
    places = pc.index_in(new_ids, value_set=old_ids)
    in_both = _as_mask(places.is_valid())
    old_of_both = old[np.asarray(places.drop_null(), np.int64)]
    new_of_both = new[in_both]
    changed = ~_equal_rows(before, after, pairs, old_of_both, new_of_both)
    gone = ~_as_mask(pc.is_in(old_ids, value_set=new_ids))
    return ChangedRows(
        before,
        after,
        inserted=new_ids.filter(pa.array(~in_both)),
        deleted=old_ids.filter(pa.array(gone)),
        updated=new_ids.filter(pa.array(in_both)).filter(pa.array(changed)),
        inserted_rows=new[~in_both],
        deleted_rows=old[gone],
        updated_rows=(old_of_both[changed], new_of_both[changed]),
    )


def _equal_rows(
    before: TableVersion | None, after: TableVersion | None, pairs: list[ColumnPair], old: RowIds, new: RowIds
) -> Mask:
    equal: Mask = np.ones(len(old), np.bool_)
    if before is None or after is None:
        return equal
    for start in range(0, len(old), _ROWS_PER_COMPARISON):
        part = slice(start, start + _ROWS_PER_COMPARISON)
        equal[part] = _equal_part(before, after, pairs, old[part], new[part])
    return equal


def _equal_part(
    before: TableVersion, after: TableVersion, pairs: list[ColumnPair], old: RowIds, new: RowIds
) -> Mask:
    """Compare column by column; a row that is known to differ is not read any further."""
    equal: Mask = np.ones(len(old), np.bool_)
    for pair in sorted(pairs, key=lambda pair: _weight(after, pair)):
        left = np.flatnonzero(equal)
        if not len(left):
            break
        compare = _equal_blobs if is_blob(after.rows, pair.new) else _equal_column
        equal[left] = compare(before, after, pair, old[left], new[left])
    return equal


def _weight(version: TableVersion, pair: ColumnPair) -> tuple[int, str]:
    """Return how much there is to read of a column: numbers first, texts and lists later, blobs last."""
    type_ = version.rows.schema.field(pair.new).type
    if isinstance(type_, pa.BaseExtensionType):
        return 2, pair.new
    return int(not (pa.types.is_primitive(type_) or pa.types.is_boolean(type_))), pair.new


def _equal_column(
    before: TableVersion, after: TableVersion, pair: ColumnPair, old: RowIds, new: RowIds
) -> Mask:
    news = take_rows(after.rows, new, [pair.new])[pair.new].combine_chunks()
    if pair.old is None:
        return equal_values(pair.default_values(len(old)), news)
    olds = take_rows(before.rows, old, [pair.old])[pair.old].combine_chunks()
    return equal_values(olds.cast(pair.cast) if pair.cast is not None else olds, news)


def _equal_blobs(
    before: TableVersion, after: TableVersion, pair: ColumnPair, old: RowIds, new: RowIds
) -> Mask:
    """Compare blobs by their bytes; those of different lengths are not read."""
    sizes = blob_sizes(after.rows, new, pair.new)
    if pair.old is None:
        return np.array([held is None for held in read_blobs(after.rows, new, pair.new)], np.bool_)
    equal: Mask = sizes == blob_sizes(before.rows, old, pair.old)
    places = np.flatnonzero(equal)
    groups = np.cumsum(sizes[places]) // _BLOB_BYTES
    for group in unite(groups):
        part = places[groups == group]
        olds = read_blobs(before.rows, old[part], pair.old)
        news = read_blobs(after.rows, new[part], pair.new)
        equal[part] = [left == right for left, right in zip(olds, news, strict=True)]
    return equal


def _bounds(
    before: TableVersion | None, after: TableVersion | None, old: RowIds, new: RowIds, parts: int
) -> list[str]:
    """Return ids that cut the candidates into parts of about the same size."""
    if parts <= 1:
        return []
    samples: list[str] = []
    for version, rows in ((before, old), (after, new)):
        if version is not None and len(rows):
            step = max(1, len(rows) // (_SAMPLES_PER_PART * parts))
            samples += take_rows(version.rows, rows[::step], ["id"])["id"].to_pylist()
    samples.sort(key=str.encode)
    return [samples[len(samples) * place // parts] for place in range(1, parts)]


def _partition(version: TableVersion | None, rows: RowIds, bounds: list[str]) -> list[RowIds]:
    if version is None or not bounds:
        return [rows, *(_NO_ROWS for _ in bounds)]
    part_of = np.zeros(len(rows), np.uint32)
    for start in range(0, len(rows), _ROWS_PER_PIECE):
        part = slice(start, start + _ROWS_PER_PIECE)
        ids = take_rows(version.rows, rows[part], ["id"])["id"].combine_chunks()
        for bound in bounds:
            part_of[part] += _as_mask(pc.greater_equal(ids, bound))
    return [rows[part_of == place] for place in range(len(bounds) + 1)]


def _sort_ids(version: TableVersion | None, rows: RowIds) -> tuple[pa.Array, RowIds]:
    if version is None or not len(rows):
        return _NO_IDS, _NO_ROWS
    ids = take_rows(version.rows, rows, ["id"])["id"].combine_chunks()
    order = order_of(ids)
    return ids.take(pa.array(order)), rows[order]


def _ids(rows: pa.Table) -> pa.Array:
    return rows["id"].combine_chunks()


def _by_id(rows: pa.Table, ids: pa.Array) -> pa.Table:
    return rows.take(pc.index_in(ids, value_set=_ids(rows)))


def _look_up(ids: pa.Array, known: pa.Array, rows: RowIds) -> RowIds:
    return rows[np.asarray(pc.index_in(ids, value_set=known), np.int64)]


def _as_mask(values: pa.BooleanArray) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)
