"""Stored schemas: immutable objects, each under a name of its own.

An address is the hash of the content and a few letters that are never used again: a cleanup that removes an
object nobody needs cannot take one that somebody has stored again meanwhile.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import CorruptState, NotFound
from omnigraph.base.ids import new_chain_id
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.model import Catalog
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
        self._lock = threading.Lock()

    def put(self, schema: StoredSchema) -> str:
        """Store a schema and return its address."""
        data = schema.encode()
        address = f"{hashlib.sha256(data).hexdigest()}.{new_chain_id()}"
        self._store.put(layout.schema_path(address), data)
        with self._lock:
            self._known[address] = schema
        return address

    def get(self, address: str) -> StoredSchema:
        """Return the schema with this address."""
        with self._lock:
            if address in self._known:
                return self._known[address]
        path = layout.schema_path(address)
        try:
            data = self._store.get(path)
        except NotFound as error:
            raise CorruptState(f"schema {path} is missing: restore it from a backup", path=path) from error
        if hashlib.sha256(data).hexdigest() != content_of(address):
            raise CorruptState(f"schema {path} was edited or damaged: restore it from a backup", path=path)
        schema = stored_format.decode(data, layout.SCHEMAS, "schema", _schema)
        with self._lock:
            self._known[address] = schema
        return schema


def content_of(address: str) -> str:
    """Return the part of an address that is the same for schemas of the same content."""
    return address.partition(".")[0]


def same_schema(one: str, two: str) -> bool:
    """Return whether two addresses are of schemas of the same content."""
    return content_of(one) == content_of(two)


def _schema(data: Mapping[str, Any]) -> StoredSchema:
    return StoredSchema(codec.from_json(data["catalog"]), data["source"])
