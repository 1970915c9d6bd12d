"""Columns that only Lance knows."""

from __future__ import annotations

from collections.abc import Sequence

import lance.blob
import pyarrow as pa

LAST_CHANGED = "_row_last_updated_at_version"
"""The version of the table in which a row was written or changed last, as Lance keeps it for each row."""


def blob_field(name: str, nullable: bool) -> pa.Field:
    """Return a field whose values lie in files of their own, beside the table's."""
    return lance.blob.blob_field(name, nullable=nullable)


def blob_array(values: Sequence[bytes | None]) -> pa.Array:
    """Return bytes as values of such a field."""
    return lance.blob.blob_array(list(values))
