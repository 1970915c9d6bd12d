"""What changed between two versions of a table along one lineage."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.lance_errors import translated
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables import open_dataset

_UPDATED = "_row_last_updated_at_version"


@dataclass(frozen=True, slots=True)
class RowsChanged:
    """The rows that are new or other than they were, and the ids of those that are gone."""

    rows: pa.Table
    gone: list[str]


def rows_changed(namespace: SnapshotNamespace, before: str, after: str) -> RowsChanged | None:
    """Return what leads from one version to a later one of its lineage; None when columns differ."""
    old, new = open_dataset(namespace, before), open_dataset(namespace, after)
    # A blob's bytes are not in the scan, and columns that differ cannot be applied row by row.
    if old.schema != new.schema or any(pa.types.is_struct(item.type) for item in new.schema):
        return None
    if any(isinstance(item.type, pa.BaseExtensionType) for item in new.schema):
        return None
    with translated("comparing two versions of a table", reading=True):
        rows = new.to_table(columns=[*new.schema.names, _UPDATED])
        ids = old.to_table(columns=["id"])["id"]
    changed = rows.filter(pc.greater(rows[_UPDATED], old.version)).select(new.schema.names)
    gone = ids.filter(pc.invert(pc.is_in(ids, rows["id"].combine_chunks())))
    return RowsChanged(changed.cast(new.schema), gone.to_pylist())
