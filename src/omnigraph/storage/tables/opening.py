"""Opening versions of tables: by Lance at once, or not before more is asked than the manifest tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import lance
import numpy as np
import pyarrow as pa

from omnigraph.base import telemetry
from omnigraph.base.errors import NotFound
from omnigraph.storage.checksums.checking import compare_version
from omnigraph.storage.checksums.sums import Sums, compute
from omnigraph.storage.format.deletions import find_deleted
from omnigraph.storage.format.fragments import (
    Fragment,
    describe_fragment,
    read_column_ids,
    read_fragments,
)
from omnigraph.storage.format.manifests import manifests, message_of, without_indexes
from omnigraph.storage.format.version_files import VersionFiles, list_files
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.restrictions.hidden_rows import HiddenIds, HiddenRows, find_hidden_rows
from omnigraph.storage.restrictions.restricted_version import RestrictedManifest
from omnigraph.storage.restrictions.restriction import Reference, Restriction
from omnigraph.storage.tables.written_rows import find_rows


class VersionFacts(Protocol):
    """What is known of one version of one table, which never changes."""

    @property
    def dataset(self) -> Any:
        """The version as Lance has it open."""

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """The fragments in the order in which a scan reads them."""

    @property
    def column_ids(self) -> dict[str, int]:
        """The numbers of all columns, by their names."""

    def find_written(self, columns: Sequence[str], fragment: Fragment) -> list[pa.Array] | None:
        """Return columns of a fragment that this process has written; None when it has not."""

    def read_so_far(self) -> tuple[int, int]:
        """Return how many requests the version was read with since it was opened, and their bytes."""


class OpenedVersion:
    """`VersionFacts`: Lance tells everything."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        return tuple(describe_fragment(item.metadata) for item in self.dataset.get_fragments())

    @cached_property
    def column_ids(self) -> dict[str, int]:
        return {item.name(): int(item.id()) for item in self.dataset.lance_schema.fields()}

    def find_written(self, columns: Sequence[str], fragment: Fragment) -> list[pa.Array] | None:
        return None

    def read_so_far(self) -> tuple[int, int]:
        seen = self.dataset.io_stats_snapshot()
        return int(seen.read_iops), int(seen.read_bytes)


class KnownVersion:
    """`VersionFacts`: its manifest tells what it can; two threads may open it, and one is kept."""

    def __init__(self, message: bytes, uri: str, open: Callable[[], Any]) -> None:
        self._message, self._uri, self._open = message, uri, open
        self._opened: OpenedVersion | None = None

    @property
    def dataset(self) -> Any:
        if self._opened is None:
            self._opened = OpenedVersion(self._open())
        return self._opened.dataset

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        return read_fragments(self._message)

    @cached_property
    def column_ids(self) -> dict[str, int]:
        return read_column_ids(self._message)

    def find_written(self, columns: Sequence[str], fragment: Fragment) -> list[pa.Array] | None:
        return find_rows((self._uri, *fragment.files), [self.column_ids[name] for name in columns])

    def read_so_far(self) -> tuple[int, int]:
        return (0, 0) if self._opened is None else self._opened.read_so_far()


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


def find_version(namespace: SnapshotNamespace, table_id: str) -> VersionFacts:
    """Return the version that a namespace pins; Lance opens it when more is asked than its manifest tells.

    It is opened at once if rows of it are hidden, or if no commit has told the digest of its manifest.
    """
    if namespace.restriction(table_id) is not None:
        return OpenedVersion(open_dataset(namespace, table_id))
    if namespace.is_restricted:  # nothing is hidden of this table
        namespace = namespace.without_restrictions()
    message = _message(namespace, table_id, compares=True)
    if message is None:
        return OpenedVersion(_open(namespace, table_id, None))
    return KnownVersion(message, namespace.table_uri(table_id), lambda: _open(namespace, table_id, message))


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
    version, read = find_version(whole, table_id), whole.folder(table_id).read
    hidden = _find_hidden(namespace, table_id, version.dataset)
    with translate_errors(f"opening table {table_id}", reading=True):
        deleted = {
            item.number: find_deleted(lambda: version.dataset, item, read).astype(np.uint32)
            for item in version.fragments
            if item.number in hidden
        }
    message = _message(whole, table_id, compares=True)
    if message is None:
        message = message_of(whole.folder(table_id).read(pin.path))
    manifest = RestrictedManifest(message, hidden, deleted, restriction.hidden_columns)
    dataset = _open(whole, table_id, manifest.message)
    manifest.keep_for(dataset)
    return dataset


def _find_hidden(namespace: SnapshotNamespace, table_id: str, dataset: Any = None) -> dict[int, HiddenRows]:
    """Return the hidden rows of a table by fragments; those that refer to hidden rows are hidden, too."""
    restriction = namespace.restriction(table_id)
    if restriction is None:
        return {}
    if dataset is None:
        dataset = open_dataset(namespace.without_restrictions(), table_id)

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
