"""The tables of a snapshot for other tools that read Lance, in the terms of Lance's own namespace package.

Nothing of ours needs this, and the package takes a second to import: see `namespace`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lance_namespace as ln

from omnigraph.base.errors import ReadOnly
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


class ServedNamespace(ln.LanceNamespace):  # type: ignore[misc]
    """The tables of a snapshot of a served graph, by the same ids; the server says where they lie."""

    def __init__(self, uri: str, headers: Mapping[str, str], place: Sequence[str]) -> None:
        """Take the address of the server's namespaces, and the one that is meant."""
        told = {f"header.{name}": value for name, value in headers.items()}
        self._served = ln.connect("rest", {"uri": uri, **told})
        self._uri, self._place = uri, list(place)

    def namespace_id(self) -> str:
        """Return a name that is unique to this view."""
        return f"omnigraph {self._uri} {self._place}"

    def list_tables(self, request: Any) -> Any:
        """List the ids of all tables."""
        return self._served.list_tables(ln.ListTablesRequest(id=self._place))

    def describe_table(self, request: Any) -> Any:
        """Tell where a table lies."""
        return self._served.describe_table(ln.DescribeTableRequest(id=self._table(request)))

    def list_table_versions(self, request: Any) -> Any:
        """List the only version of a table."""
        return self._served.list_table_versions(ln.ListTableVersionsRequest(id=self._table(request)))

    def describe_table_version(self, request: Any) -> Any:
        """Return the only version of a table."""
        version = request["version"] if isinstance(request, dict) else request.version
        asked = ln.DescribeTableVersionRequest(id=self._table(request), version=version)
        return self._served.describe_table_version(asked)

    def create_table_version(self, request: Any) -> Any:
        """Refuse: a snapshot never changes."""
        raise ReadOnly("this is a snapshot: write through the graph instead", table=self._table(request)[-1])

    def _table(self, request: Any) -> list[str]:
        names = request["id"] if isinstance(request, dict) else request.id
        return [*self._place, *names]
