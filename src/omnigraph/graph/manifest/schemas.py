"""Stored schemas: immutable objects named by the hash of their content."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import CorruptState, NotFound
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
        return stored_format.encode({"catalog": codec.to_json(self.catalog), "source": self.source})


class Schemas:
    """The schemas of one graph; a schema that was read once stays in memory."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._known: dict[str, StoredSchema] = {}
        self._lock = threading.Lock()

    def put(self, schema: StoredSchema) -> str:
        """Store a schema and return its address."""
        data = schema.encode()
        address = hashlib.sha256(data).hexdigest()
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
        if hashlib.sha256(data).hexdigest() != address:
            raise CorruptState(f"schema {path} was edited or damaged: restore it from a backup", path=path)
        schema = stored_format.decode(data, f"schema {path}", _schema)
        with self._lock:
            self._known[address] = schema
        return schema


def _schema(data: Mapping[str, Any]) -> StoredSchema:
    return StoredSchema(codec.from_json(data["catalog"]), data["source"])
