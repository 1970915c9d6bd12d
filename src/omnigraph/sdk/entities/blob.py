"""One blob of one node or edge: its size, its bytes in ranges, and writing it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import BadInput, NotFound, ReadOnly, ValidationError
from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.compiler.source import suggest
from omnigraph.compiler.types import Scalar
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.rows.find_rows import find_by_id
from omnigraph.storage.rows.stored_blob import StoredBlob, open_blob

if TYPE_CHECKING:
    from omnigraph.execution.write.mutate import Mutation

PIECE_BYTES = 4 * 1024 * 1024
"""How much of a blob is held at once while it is read piece by piece."""


class BlobHandle:
    """A blob of one commit. After `put` and `clear` it is the blob of the commit that they made."""

    def __init__(
        self,
        snapshot: Snapshot,
        entity: str,
        type: str,
        id: str,
        property: str,
        write_to: tuple[Graph, str | None] | None = None,
    ) -> None:
        """Find the row and the property; `write_to` is a graph and the branch that its user has named."""
        self.entity, self.type, self.id, self.property = entity, type, id, property
        self._write_to = write_to
        self._pin(snapshot)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to find the same blob in another process."""
        place = (self._snapshot, self.entity, self.type, self.id, self.property, self._write_to)
        return BlobHandle, place

    def _pin(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._type = _find_type(snapshot, self.entity, self.type)
        self._declared = _find_property(self._type, self.property)
        self.__dict__.pop("_stored", None)
        self._table = snapshot.table(self._type.table_key)
        row = find_by_id(self._table, self.id) if isinstance(self.id, str) else None
        if row is None:
            wanted = f"{self.entity} {self.type} with the id {self.id!r}"
            raise NotFound(f"there is no {wanted} at commit {snapshot.commit_id}", type=self.type, id=self.id)
        self._row = row.number

    @cached_property
    def _stored(self) -> StoredBlob | None:
        return open_blob(self._table, self._row, self._declared.name)

    @property
    def commit_id(self) -> str:
        """The commit whose bytes these are."""
        return self._snapshot.commit_id

    @property
    def stamp(self) -> tuple[Any, ...]:
        """What is another whenever the bytes may be: the version of the table, and the place in it."""
        pins = {entry.key: entry.pin for entry in self._snapshot.record.tables.values()}
        return pins.get(self._type.table_key) or self.commit_id, self.id, self.property

    @property
    def is_null(self) -> bool:
        """Whether there is no blob; an empty one is there."""
        return self._stored is None

    @property
    def size(self) -> int | None:
        """How many bytes there are; None when there is no blob."""
        return None if self._stored is None else self._stored.size

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Return all bytes, or `length` of them from `offset` on; fewer where the blob ends."""
        stored = self._require()
        for name, value in (("offset", offset), ("length", length)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                raise BadInput(f"{name} is {value!r}: it must be a whole number of at least 0")
        if offset > stored.size:
            raise BadInput(
                f"offset is {offset}, and {self._name} has {stored.size} bytes",
                offset=offset,
                size=stored.size,
            )
        rest = stored.size - offset
        return stored.read(offset, rest if length is None else min(length, rest))

    def pieces(self, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yield the same bytes in pieces of at most 4 MiB, so that a large blob takes little memory."""
        size = self._require().size
        end = size if length is None else min(size, offset + length)
        while True:
            piece = self.read(offset, min(PIECE_BYTES, max(end - offset, 0)))
            if not piece:
                return
            yield piece
            offset += len(piece)

    def put(self, data: bytes | str, *, message: str | None = None) -> Mutation:
        """Store other bytes (or a string as a load takes it, `base64:…`) as one commit."""
        if data is None:
            raise BadInput("put needs bytes; to have no blob there, call clear()")
        return self._write(data, message)

    def clear(self, *, message: str | None = None) -> Mutation:
        """Set the blob to null as one commit."""
        if not self._declared.type.nullable:
            raise ValidationError(f"{self.type}.{self.property} is required: put other bytes instead")
        return self._write(None, message)

    def _write(self, data: bytes | str | None, message: str | None) -> Mutation:
        if self._write_to is None:
            raise ReadOnly(
                "this blob belongs to a snapshot, which never changes: call g.blob(…) without one",
                commit=self.commit_id,
            )
        from omnigraph.execution.write.run_mutation import run_mutation

        graph, branch = self._write_to
        text = (
            "query put_blob($id: String, $data: Blob?) "
            f"{{ update {self._type.name} set {{ {self._declared.name}: $data }} where id = $id }}"
        )
        done = run_mutation(graph, text, {"id": self.id, "data": data}, branch=branch, message=message)
        self._pin(graph.snapshot(commit=done.commit_id) if done.commit_id else graph.snapshot(branch))
        return done

    def _require(self) -> StoredBlob:
        if self._stored is None:
            raise NotFound(f"{self._name} is null at commit {self.commit_id}: it has no bytes", id=self.id)
        return self._stored

    @property
    def _name(self) -> str:
        return f"{self.type}.{self.property} of {self.id!r}"

    def __repr__(self) -> str:
        shown = "null" if self.is_null else f"{self.size} bytes"
        return f"BlobHandle({self._name}, {shown}, commit={self.commit_id})"


def _find_type(snapshot: Snapshot, entity: str, type: str) -> TableType:
    if entity not in ("node", "edge"):
        raise BadInput(f"{entity!r} is neither 'node' nor 'edge'")
    catalog = snapshot.catalog
    found = catalog.node(type) if entity == "node" else catalog.edge(type)
    if found is None:
        known = catalog.nodes if entity == "node" else catalog.edges
        raise NotFound(_with_hint(f"there is no {entity} type {type!r}", type, [item.name for item in known]))
    return found


def _find_property(table: TableType, name: str) -> Property:
    found = table.by_name.get(name)
    if found is None:
        blobs = [item.name for item in table.properties if item.type.scalar is Scalar.BLOB]
        raise NotFound(_with_hint(f"{table.kind} type {table.name} has no property {name!r}", name, blobs))
    if found.type.scalar is not Scalar.BLOB:
        raise BadInput(f"{table.name}.{name} is {found.type}, not a Blob: read it with a query")
    return found


def _with_hint(message: str, wanted: str, known: list[str]) -> str:
    hint = suggest(str(wanted), known)
    return f"{message}: {hint}" if hint else message
