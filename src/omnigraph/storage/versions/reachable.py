"""Which files one version of a table needs: cleanup keeps these and no others, so none may be missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from omnigraph.base.errors import OmniError
from omnigraph.storage.format.digests import digest_of
from omnigraph.storage.format.manifests import manifest_damaged
from omnigraph.storage.format.version_files import DELETIONS, deletions_of, list_files, stored_otherwise_error
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.opening import open_dataset

__all__ = ["DELETIONS", "TableFiles", "files_of", "is_among", "unreadable_deletions"]


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Files of a table version, and folders of which everything belongs to it; below the table's folder."""

    pin: str
    rows: int
    fragments: int
    needed: Mapping[str, int | None] = field(default_factory=dict)
    """Files that must be there, with their size where it is known."""
    perhaps: frozenset[str] = frozenset()
    """Files and folders that belong to it where they exist."""

    def paths(self) -> Iterable[str]:
        """Return everything that must be kept."""
        yield self.pin
        yield from self.needed
        yield from self.perhaps


def files_of(store: ObjectStore, namespace: SnapshotNamespace, table_id: str) -> TableFiles:
    """Return what a pinned version needs: data, blobs, deletions, indexes, transaction, sums and manifest."""
    where = namespace.pin_path(table_id)
    manifest = store.get(where)
    pin = namespace.newest_pin(table_id)
    if pin is not None and pin.digest and digest_of(manifest) != pin.digest:
        raise manifest_damaged(where)
    dataset = open_dataset(namespace, table_id, compares=False)
    files = list_files(table_id, dataset, manifest)
    with translate_errors(f"listing the files of {table_id}", reading=True):
        rows = int(dataset.count_rows())
        if any(
            "Inline" not in fragment.metadata.row_id_meta.asdict()
            for fragment in dataset.get_fragments()
            if fragment.metadata.row_id_meta is not None
        ):
            raise stored_otherwise_error(table_id)
    needed = {**files.data, **dict.fromkeys(files.deletions)}
    inside = where.split("/", 2)[2]
    beside = inside.rsplit("/", 1)[0]  # where the sums lie
    perhaps = {beside, *files.blob_folders, *files.index_folders, *files.transactions}
    return TableFiles(inside, rows, files.fragments, needed, frozenset(perhaps))


def unreadable_deletions(
    namespace: SnapshotNamespace, table_id: str, paths: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield those among a version's deletion files that cannot be read or say too little, and what is wrong.

    Lance reads them, and nothing else, when it lists where the rows of a fragment lie.
    """
    dataset = open_dataset(namespace, table_id, compares=False)
    for fragment in dataset.get_fragments():
        stored = fragment.metadata.deletion_file
        path = None if stored is None else deletions_of(fragment.fragment_id, stored)
        if path is None or path not in paths:
            continue
        left = fragment.metadata.physical_rows - fragment.metadata.num_deletions
        try:
            with translate_errors(f"reading {path}", reading=True):
                scanner = dataset.scanner(columns=[], with_row_address=True, fragments=[fragment])
                found = sum(batch.num_rows for batch in scanner.to_batches())
        except OmniError as error:
            yield path, error.message
        else:
            if found != left:
                yield path, f"it leaves {found} rows of the fragment, not {left}"


def is_among(path: str, kept: set[str]) -> bool:
    """Return whether a file below a table's folder is kept, by itself or with its folder."""
    if path in kept:
        return True
    parts = path.split("/")
    return len(parts) > 2 and f"{parts[0]}/{parts[1]}" in kept
