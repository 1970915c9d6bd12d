"""Stored rows as JSON data, in the form in which a load takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.blob_text import blob_to_text
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.results import to_json
from omnigraph.graph.model.arrow_values import to_plain

_AS_STORED = frozenset({Scalar.STRING, Scalar.BOOL, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64})


def properties_of(table: TableType, rows: pa.Table) -> list[dict[str, Any]]:
    """Return the properties of rows (blobs as bytes) as JSON data: every property, null where it has none."""
    names = [item.name for item in table.properties]
    columns = [_json_column(rows[item.name], item.type) for item in table.properties]
    if not names:
        return [{} for _ in range(rows.num_rows)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _json_column(column: pa.ChunkedArray, type_: PropertyType) -> list[Any]:
    if type_.scalar is Scalar.BLOB:
        return [None if held is None else blob_to_text(held) for held in column.to_pylist()]
    if type_.is_vector and (vectors := _finite_vectors(column)) is not None:
        return vectors
    plain = to_plain(column, type_)
    if type_.scalar in _AS_STORED and not type_.is_list:
        return plain
    return [to_json(value, type_) for value in plain]


def _finite_vectors(column: pa.ChunkedArray) -> list[Any] | None:
    """Return vectors at once; None when a member of one of them is not finite."""
    found: list[Any] = []
    for chunk in column.chunks:
        members = chunk.flatten()  # of the vectors that are not null
        numbers = members.to_numpy(zero_copy_only=False)
        if members.null_count or not np.isfinite(numbers).all():
            return None
        vectors = iter(numbers.reshape(-1, chunk.type.list_size).tolist())
        if chunk.null_count:
            found.extend(next(vectors) if is_there else None for is_there in chunk.is_valid().to_pylist())
        else:
            found.extend(vectors)
    return found
