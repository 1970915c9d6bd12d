"""The tables of a snapshot for other tools that read Lance, in the terms of Lance's own namespace package.

Nothing of ours needs this, and the package takes a second to import: see `namespace`.
"""

from __future__ import annotations

from typing import Any

import lance_namespace as ln

from omnigraph.storage.namespace import SnapshotNamespace


class PublicNamespace(ln.LanceNamespace):  # type: ignore[misc]
    """A read-only namespace over a snapshot."""

    def __init__(self, pinned: SnapshotNamespace) -> None:
        self._pinned = pinned

    def namespace_id(self) -> str:
        """Return a name that is unique to this view."""
        return self._pinned.namespace_id()

    def list_tables(self, request: Any) -> Any:
        """List the ids of all tables."""
        return ln.ListTablesResponse(**self._pinned.list_tables(request))

    def describe_table(self, request: Any) -> Any:
        """Tell where a table lies."""
        return ln.DescribeTableResponse(**self._pinned.describe_table(request).model_dump())

    def list_table_versions(self, request: Any) -> Any:
        """List the only version of a table."""
        return ln.ListTableVersionsResponse(**self._pinned.list_table_versions(request))

    def describe_table_version(self, request: Any) -> Any:
        """Return the only version of a table."""
        return self._pinned.describe_table_version(request)

    def create_table_version(self, request: Any) -> Any:
        """Refuse: a snapshot never changes."""
        return self._pinned.create_table_version(request)
