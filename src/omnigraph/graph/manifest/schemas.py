"""Stored schemas and sets of stored queries: immutable objects, each under a name of its own.

An address is the hash of the content and a few letters that are never used again: a cleanup that removes an
object nobody needs cannot take one that somebody has stored again meanwhile.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import CorruptState, NotFound
from omnigraph.base.ids import new_chain_id
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored import read
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.storage.objects import ObjectStore


@dataclass(frozen=True)
class StoredSchema:
    """A compiled schema and the text that it came from (empty when it was built in code)."""

    catalog: Catalog
    source: str

    def encode(self) -> bytes:
        """Return the schema as stored."""
        # Its path is made of the hash of these bytes: it cannot be part of them.
        content = {"catalog": codec.to_json(self.catalog), "source": self.source}
        return stored_format.encode(content, layout.SCHEMAS)


class Schemas:
    """The schemas of one graph; a schema that was read once stays in memory."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._known: dict[str, StoredSchema] = {}
        self._known_queries: dict[str, QuerySet] = {}
        self._lock = threading.Lock()

    def put(self, schema: StoredSchema) -> str:
        """Store a schema and return its address."""
        address = self._put(schema.encode())
        with self._lock:
            self._known[address] = schema
        return address

    def get(self, address: str) -> StoredSchema:
        """Return the schema with this address."""
        with self._lock:
            if address in self._known:
                return self._known[address]
        schema = stored_format.decode(self._get(address, "schema"), layout.SCHEMAS, "schema", _schema)
        with self._lock:
            self._known[address] = schema
        return schema

    def all(self) -> Iterator[StoredSchema]:
        """Yield every schema that is stored; one that a cleanup takes away meanwhile may be among them."""
        for info in layout.own(self._store.list(layout.SCHEMAS)):
            address = info.path.removeprefix(f"{layout.SCHEMAS}/").removesuffix(".json")
            with self._lock:
                known = self._known.get(address)
            if known is None:
                with suppress(NotFound):
                    data = self._store.get(info.path)
                    known = stored_format.decode(data, layout.SCHEMAS, "schema", _schema_or_queries)
            if known is not None:
                yield known

    def put_queries(self, queries: QuerySet) -> str:
        """Store a set of queries and return its address, which is empty for no queries at all."""
        if not queries:
            return ""
        return self._put(stored_format.encode({"queries": read.to_json(queries)}, layout.SCHEMAS))

    def queries(self, address: str) -> QuerySet:
        """Return the stored queries with this address."""
        if not address:
            return QuerySet()
        with self._lock:
            if address in self._known_queries:
                return self._known_queries[address]
        data = self._get(address, "stored queries")
        found = stored_format.decode(data, layout.SCHEMAS, "stored queries", _queries)
        with self._lock:
            self._known_queries[address] = found
        return found

    def _put(self, data: bytes) -> str:
        address = f"{hashlib.sha256(data).hexdigest()}.{new_chain_id()}"
        self._store.put(layout.schema_path(address), data)
        return address

    def _get(self, address: str, what: str) -> bytes:
        path = layout.schema_path(address)
        try:
            data = self._store.get(path)
        except NotFound as error:
            raise CorruptState(f"{what} {path} is missing: restore it from a backup", path=path) from error
        if hashlib.sha256(data).hexdigest() != content_of(address):
            raise CorruptState(f"{what} {path} was edited or damaged: restore it from a backup", path=path)
        return data


def content_of(address: str) -> str:
    """Return the part of an address that is the same for schemas of the same content."""
    return address.partition(".")[0]


def same_schema(one: str, two: str) -> bool:
    """Return whether two addresses are of schemas, or of stored queries, of the same content."""
    return content_of(one) == content_of(two)


def _queries(data: Mapping[str, Any]) -> QuerySet:
    return read.from_json(data["queries"])


def _schema_or_queries(data: Mapping[str, Any]) -> StoredSchema | None:
    return _schema(data) if "catalog" in data else None


def _schema(data: Mapping[str, Any]) -> StoredSchema:
    return StoredSchema(codec.from_json(data["catalog"]), data["source"])
