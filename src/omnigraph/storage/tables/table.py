"""Reading one version of one table, and a cache of opened versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.base import telemetry
from omnigraph.base.errors import NotFound
from omnigraph.base.lru import Lru
from omnigraph.storage import filters
from omnigraph.storage.checksums.checking import compare_version
from omnigraph.storage.checksums.sums import Sums, compute
from omnigraph.storage.filters import Filter
from omnigraph.storage.format.fragments import (
    Fragment,
    describe_fragment,
    read_column_ids,
    read_fragments,
)
from omnigraph.storage.format.manifests import manifests, message_of, without_indexes
from omnigraph.storage.format.version_files import VersionFiles, list_files
from omnigraph.storage.indexes.indexes import TableIndex, list_indexes
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.restrictions.hidden_rows import HiddenIds, HiddenRows, find_hidden_rows
from omnigraph.storage.restrictions.restricted_version import RestrictedManifest
from omnigraph.storage.restrictions.restriction import Reference, Restriction
from omnigraph.storage.tables.deletions import ReadFile, read_list
from omnigraph.storage.tables.written_rows import find_rows

_MAX_ROWS_TO_TAKE = 64
"""Up to so many rows of a fragment are taken by their places: no scan has to be planned."""


@dataclass(frozen=True, slots=True)
class TableState:
    """How large a table version is."""

    rows: int
    fragments: int


def open_dataset(namespace: SnapshotNamespace, table_id: str, compares: bool = True) -> Any:
    """Open a table through a namespace, with a Lance session of its own.

    What a commit has sums of is compared with them before Lance sees it; without `compares`, for those who
    look at what a version names and at none of its files, only the manifest is. A version with a damaged
    index is opened as one without indexes: it is read in full, and what is written on it has none either.

    Lance caches index metadata by (address, version), and two lineages both have a version 17, so a
    session must never be shared between lineages.
    """
    restriction = namespace.restriction(table_id)
    if restriction is not None:
        return _open_restricted(namespace, table_id, restriction)
    if namespace.is_restricted:  # nothing is hidden of this table
        namespace = namespace.without_restrictions()
    return _open(namespace, table_id, _message(namespace, table_id, compares))


def _find_stored(namespace: SnapshotNamespace, table_id: str) -> Stored | None:
    """Return what is stored of a version; None if rows of it are hidden, or nobody has told its digest."""
    if namespace.restriction(table_id) is not None:
        return None
    if namespace.is_restricted:  # nothing is hidden of this table
        namespace = namespace.without_restrictions()
    message = _message(namespace, table_id, compares=True)
    if message is None:
        return None
    return Stored(message, namespace.table_uri(table_id), lambda: _open(namespace, table_id, message))


def _open(namespace: SnapshotNamespace, table_id: str, message: bytes | None) -> Any:
    telemetry.count("tables.open")
    with translate_errors(f"opening table {table_id}", reading=True):
        return _open_message(namespace, table_id, message)


def _open_message(namespace: SnapshotNamespace, table_id: str, message: bytes | None) -> Any:
    there = namespace.describe_table({"id": [table_id]})
    return lance.LanceDataset(  # what `lance.dataset` does, without its REST client
        there.location,
        storage_options=there.storage_options,
        serialized_manifest=message,
        namespace_client=namespace,
        table_id=[table_id],
        namespace_client_managed_versioning=True,
    )


def _open_restricted(namespace: SnapshotNamespace, table_id: str, restriction: Restriction) -> Any:
    """Open a table as if what is hidden of it were not there."""
    whole = namespace.without_restrictions()
    pin = namespace.newest_pin(table_id)
    if pin is None:
        raise NotFound(f"table {table_id!r} has no version yet", table=table_id)
    opened = Table(open_dataset(whole, table_id), table_id, whole.folder(table_id).read)
    hidden = _find_hidden(namespace, table_id, opened)
    deleted = {
        item.number: opened.deleted_rows(item).astype(np.uint32)
        for item in opened.fragments()
        if item.number in hidden
    }
    message = _message(whole, table_id, compares=True)
    if message is None:
        message = message_of(whole.folder(table_id).read(pin.path))
    manifest = RestrictedManifest(message, hidden, deleted, restriction.hidden_columns)
    dataset = _open(whole, table_id, manifest.message)
    manifest.keep_for(dataset)
    return dataset


def _find_hidden(
    namespace: SnapshotNamespace, table_id: str, opened: Table | None = None
) -> dict[int, HiddenRows]:
    """Return the hidden rows of a table by fragments; those that refer to hidden rows are hidden, too."""
    restriction = namespace.restriction(table_id)
    if restriction is None:
        return {}
    dataset = open_dataset(namespace.without_restrictions(), table_id) if opened is None else opened.dataset

    def hidden_ids(reference: Reference) -> HiddenIds:
        return HiddenIds.of(_find_hidden(namespace, reference.table).values())

    address = namespace.folder(table_id).address("")
    return find_hidden_rows(dataset, address, restriction, hidden_ids)


def _message(namespace: SnapshotNamespace, table_id: str, compares: bool) -> bytes | None:
    """Return the manifest to open; None when no commit tells what it should be, as Lance finds it then."""
    pin = namespace.newest_pin(table_id)
    if pin is None or not pin.digest:
        return None
    folder = namespace.folder(table_id)
    data = manifests.get(folder, pin.path, pin.digest)
    message = message_of(data)
    if not compares or not pin.sums:
        return message

    def files() -> VersionFiles:
        return list_files(table_id, open_dataset(namespace, table_id, compares=False), data)

    if compare_version(folder, pin, files).damaged_indexes:
        return without_indexes(message)
    return message


def sums_of(namespace: SnapshotNamespace, table_id: str) -> Sums:
    """Return the sums of a pinned version by reading all its files anew."""
    pin = namespace.newest_pin(table_id)
    assert pin is not None
    folder = namespace.folder(table_id)
    dataset = open_dataset(namespace, table_id, compares=False)
    files = list_files(table_id, dataset, manifests.get(folder, pin.path, pin.digest))
    return compute(folder, files, Sums(), fresh=True)


@dataclass(frozen=True, slots=True)
class Stored:
    """A version that Lance has not opened: the message of its manifest, its address, how to open it."""

    message: bytes
    uri: str
    open: Callable[[], Any]


class Table:
    """One version of one table, for reading; safe to use from several threads."""

    def __init__(
        self, dataset: Any, name: str, read: ReadFile | None = None, stored: Stored | None = None
    ) -> None:
        """Take an opened dataset, or None and what is stored; with `read`, deletions are read as files."""
        self._opened = dataset
        self._name = name
        self._read = read
        self._stored = stored

    @staticmethod
    def at(namespace: SnapshotNamespace, name: str) -> Table:
        """Return the version that a namespace pins.

        Lance opens it when something is asked that neither its manifest nor who wrote its rows can tell.
        """
        read = namespace.folder(name).read
        stored = _find_stored(namespace, name)
        return Table(open_dataset(namespace, name) if stored is None else None, name, read, stored)

    @property
    def _dataset(self) -> Any:
        if self._opened is None:
            assert self._stored is not None
            self._opened = self._stored.open()
        return self._opened

    @property
    def schema(self) -> pa.Schema:
        """The table's Arrow schema."""
        return self._dataset.schema

    @property
    def dataset(self) -> Any:
        """The Lance dataset under this table, for other parts of storage."""
        return self._dataset

    @cached_property
    def indexes(self) -> tuple[TableIndex, ...]:
        """The indexes of this version, by column and kind; asked for once, since a version never changes."""
        return list_indexes(self._dataset)

    def read_so_far(self) -> tuple[int, int]:
        """Return how many requests this version was read with since it was opened, and their bytes."""
        if self._opened is None:
            return 0, 0
        seen = self._dataset.io_stats_snapshot()
        return int(seen.read_iops), int(seen.read_bytes)

    def count(self) -> int:
        """Return the number of rows."""
        return int(self._dataset.count_rows())

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the fragments in the order in which a scan reads them."""
        return self._fragments

    @cached_property
    def _fragments(self) -> tuple[Fragment, ...]:
        if self._stored is not None:
            return read_fragments(self._stored.message)
        return tuple(describe_fragment(item.metadata) for item in self._dataset.get_fragments())

    def column_id(self, name: str) -> int:
        """Return the number that a column keeps when it is renamed."""
        return self.column_ids[name]

    @cached_property
    def column_ids(self) -> dict[str, int]:
        """The numbers of all columns, by their names."""
        if self._stored is not None:
            return read_column_ids(self._stored.message)
        return {item.name(): int(item.id()) for item in self._dataset.lance_schema.fields()}

    def stored_columns(self, names: Sequence[str], fragment: Fragment) -> list[pa.Array]:
        """Return columns of a fragment with a value for each stored row; any value where a row is deleted."""
        if self._stored is not None:
            key, wanted = (self._stored.uri, *fragment.files), [self.column_ids[name] for name in names]
            if (written := find_rows(key, wanted)) is not None:
                return written
        telemetry.count("tables.columns")
        columns = list(names)
        with translate_errors(f"scanning table {self._name}", reading=True):
            part = self._dataset.get_fragment(fragment.number)
            if fragment.deletion is None:
                if fragment.rows <= _MAX_ROWS_TO_TAKE and not self._has_blob(columns):
                    found = part.take(list(range(fragment.rows)), columns=columns)
                else:
                    found = part.to_table(columns=columns)
                return [_whole(found[name]) for name in columns]
            found = part.scanner(columns=columns, with_row_address=True).to_table()
        places = np.full(fragment.rows, -1, dtype=np.int64)
        places[_offsets(found)] = np.arange(found.num_rows)
        at = pa.array(places, mask=places < 0)
        return [_whole(found[name]).take(at) for name in columns]

    def _has_blob(self, columns: Sequence[str]) -> bool:
        # Lance takes no rows of columns whose values lie in other files (pinned in test_lance_surface).
        return any(isinstance(self.schema.field(name).type, pa.BaseExtensionType) for name in columns)

    def deleted_rows(self, fragment: Fragment) -> npt.NDArray[np.int64]:
        """Return the sorted places of the deleted rows of a fragment."""
        if fragment.deletion is None:
            return np.empty(0, dtype=np.int64)
        with translate_errors(f"scanning table {self._name}", reading=True):
            path = fragment.deletion_list
            listed = None if self._read is None or path is None else read_list(path, self._read)
            if listed is not None:
                return np.sort(listed.astype(np.int64))
            part = self._dataset.get_fragment(fragment.number)
            found = part.scanner(columns=[], with_row_address=True).to_table()
        live = np.zeros(fragment.rows, dtype=bool)
        live[_offsets(found)] = True
        return np.flatnonzero(~live)

    def scan(self, columns: Sequence[str] | None = None, filter: Filter | None = None) -> pa.Table:
        """Return the rows that pass the filter, with the given columns."""
        with translate_errors(f"scanning table {self._name}", reading=True):
            return filters.read_filtered(self._dataset, columns or None, filter)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all rows, batch by batch."""
        with translate_errors(f"scanning table {self._name}", reading=True):
            yield from self._dataset.to_batches(columns=list(columns) if columns else None)

    def part(self, columns: Sequence[str], number: int, parts: int) -> Iterator[pa.RecordBatch]:
        """Yield one of several parts of the rows: all parts together are all rows, each once."""
        some = self._dataset.get_fragments()[number::parts]
        if some:
            with translate_errors(f"scanning table {self._name}", reading=True):
                yield from self._dataset.scanner(columns=list(columns), fragments=some).to_batches()


def _offsets(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return where rows lie in their fragment: the lower half of their address."""
    return np.asarray(rows["_rowaddr"].to_numpy(), dtype=np.uint64).astype(np.uint32).astype(np.int64)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class TableCache:
    """Opened table versions by the path of their pin, which is unique; the least recently used go first."""

    def __init__(self, capacity: int) -> None:
        self._tables: Lru[str, Table] = Lru(capacity)

    def get(self, namespace: SnapshotNamespace, table_id: str) -> Table:
        """Return the table as this namespace pins it, opening it when nobody has yet."""
        key = namespace.pin_path(table_id)
        found = self._tables.get(key)
        if found is None:
            found = Table.at(namespace, table_id)
            self._tables.put(key, found)
        return found

    def clear(self) -> None:
        """Close all."""
        self._tables.clear()
