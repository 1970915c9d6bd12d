"""Which files one version of a table needs: cleanup keeps these and no others, so none may be missing."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import CorruptState, OmniError
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables import open_dataset

_TRANSACTION = re.compile(rb"\d+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.txn")
# How a manifest spells the id of an index. What Lance lists may leave out indexes that it keeps for itself.
_INDEX = re.compile(rb"\x0a\x12\x0a\x10(.{16})", re.DOTALL)
DELETIONS = "_deletions/"
_DELETION_KINDS = ("arrow", "bin")


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
    """Return what a pinned version needs: data, blobs, deletions, indexes, transaction and manifest."""
    pin = namespace.pin_path(table_id)
    manifest = store.get(pin)
    dataset = open_dataset(namespace, table_id)
    with translated(f"listing the files of {table_id}", reading=True):
        fragments = [fragment.metadata.to_json() for fragment in dataset.get_fragments()]
        segments = [segment for index in dataset.describe_indices() for segment in index.segments]
        rows = int(dataset.count_rows())
    needed: dict[str, int | None] = {}
    perhaps: set[str] = {f"_transactions/{found.decode()}" for found in _TRANSACTION.findall(manifest)}
    for fragment in fragments:
        _refuse_unknown(table_id, fragment)
        for file in fragment["files"]:
            needed[f"data/{file['path']}"] = file["file_size_bytes"]
            perhaps.add(f"data/{file['path'].removesuffix('.lance')}")
        if (deletions := _deletions(fragment)) is not None:
            needed[deletions] = None
    for segment in segments:
        if segment.base_id is not None:
            raise _elsewhere(table_id)
        perhaps.add(f"_indices/{segment.uuid}")
    perhaps.update(f"_indices/{uuid.UUID(bytes=found)}" for found in _INDEX.findall(manifest))
    inside = pin.split("/", 2)[2]
    return TableFiles(inside, rows, len(fragments), needed, frozenset(perhaps))


def unreadable_deletions(
    namespace: SnapshotNamespace, table_id: str, paths: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield those among a version's deletion files that cannot be read or say too little, and what is wrong.

    Lance reads them, and nothing else, when it lists where the rows of a fragment lie.
    """
    dataset = open_dataset(namespace, table_id)
    for fragment in dataset.get_fragments():
        path = _deletions(fragment.metadata.to_json())
        if path is None or path not in paths:
            continue
        left = fragment.metadata.physical_rows - fragment.metadata.num_deletions
        try:
            with translated(f"reading {path}", reading=True):
                scanner = dataset.scanner(columns=[], with_row_address=True, fragments=[fragment])
                found = sum(batch.num_rows for batch in scanner.to_batches())
        except OmniError as error:
            yield path, error.message
        else:
            if found != left:
                yield path, f"it leaves {found} rows of the fragment, not {left}"


def is_among(path: str, kept: set[str]) -> bool:
    """Say whether a file below a table's folder is kept, by itself or with its folder."""
    if path in kept:
        return True
    parts = path.split("/")
    return len(parts) > 2 and f"{parts[0]}/{parts[1]}" in kept


def _deletions(fragment: Mapping[str, Any]) -> str | None:
    """Return the path of a fragment's deletion file, if it has one."""
    deletions = fragment["deletion_file"]
    if not deletions:
        return None
    # Sparse and dense deletions are stored in two ways; the name before the dot is one version's own.
    kind = _DELETION_KINDS[0 if deletions["file_type"] == "array" else 1]
    return f"{DELETIONS}{fragment['id']}-{deletions['read_version']}-{deletions['id']}.{kind}"


def _refuse_unknown(table_id: str, fragment: Mapping[str, Any]) -> None:
    """Refuse to guess about what this release of Lance does not write for us."""
    parts = [*fragment["files"], *([fragment["deletion_file"]] if fragment["deletion_file"] else [])]
    if any(part["base_id"] is not None for part in parts):
        raise _elsewhere(table_id)
    if fragment.get("overlays") or "Inline" not in (fragment.get("row_id_meta") or {"Inline": None}):
        raise CorruptState(
            f"table {table_id} stores its rows in a way that this release does not know: "
            "clean it up with the release that wrote it",
            table=table_id,
        )


def _elsewhere(table_id: str) -> CorruptState:
    return CorruptState(
        f"table {table_id} has files outside its folder: restore it from a backup", table=table_id
    )
