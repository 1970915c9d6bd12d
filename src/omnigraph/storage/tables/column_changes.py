"""Changing the columns of a table: each function stages one version of an opened dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lance
import pyarrow as pa

from omnigraph.storage.indexes import indexes


def add_column(dataset: Any, field: pa.Field, fill: Callable[[int], pa.Array] | None) -> None:
    """Add a column: NULL everywhere, or what `fill` gives for a number of rows."""
    if fill is None:
        dataset.add_columns(field)
        return
    schema = pa.schema([field])

    @lance.batch_udf(output_schema=schema)  # type: ignore[untyped-decorator]
    def fill_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([fill(batch.num_rows)], schema=schema)

    dataset.add_columns(fill_batch, read_columns=["id"])


def change_columns(dataset: Any, alterations: Sequence[Mapping[str, Any]]) -> None:
    """Rename, widen or require columns, as Lance describes it; a widened column loses its indexes."""
    # Lance refuses to rewrite a column under an index, and an index never stands in a write's way.
    indexes.drop(dataset, [item["path"] for item in alterations if "data_type" in item])
    dataset.alter_columns(*alterations)


def remove_columns(dataset: Any, names: Sequence[str]) -> None:
    """Drop columns; versions before this one keep them."""
    dataset.drop_columns(list(names))
