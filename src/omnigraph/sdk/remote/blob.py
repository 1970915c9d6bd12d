"""One blob of a served graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ReadOnly
from omnigraph.sdk.entities.blob import BlobHandle
from omnigraph.sdk.remote.requests.transport import Transport, given

if TYPE_CHECKING:
    from omnigraph.execution.write.mutate import Mutation


class RemoteBlob(BlobHandle):
    """A blob of one commit. After `put` and `clear` it is the blob of the commit that they made."""

    stands_for = BlobHandle

    def __init__(
        self,
        transport: Transport,
        entity: str,
        type: str,
        id: str,
        property: str,
        where: Mapping[str, Any],
        can_write: bool,
    ) -> None:
        """Find the row and the property."""
        self.entity, self.type, self.id, self.property = entity, type, id, property
        self._transport, self._where, self._can_write = transport, where, can_write
        self._look(where)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to find the same blob in another process."""
        place = (self._transport, self.entity, self.type, self.id, self.property)
        return RemoteBlob, (*place, self._where, self._can_write)

    def _look(self, where: Mapping[str, Any]) -> None:
        told = self._transport.ask("/blob/info", **self._address(where))
        self._commit: str = told["commit"]
        self._size: int | None = told["size"]
        self.__dict__.pop("_stored", None)

    def _address(self, where: Mapping[str, Any]) -> dict[str, Any]:
        place = {"entity": self.entity, "type": self.type, "id": self.id, "property": self.property}
        return {**place, **given(where)}

    @cached_property
    def _stored(self) -> Any:
        return None if self._size is None else _RemoteBytes(self._transport, self._pinned, self._size)

    @property
    def _pinned(self) -> dict[str, Any]:
        return self._address({"snapshot": self._commit})

    @property
    def commit_id(self) -> str:
        """The commit whose bytes these are."""
        return self._commit

    def clear(self, *, message: str | None = None) -> Mutation:
        """Set the blob to null as one commit."""
        return self._write(None, message)

    def _write(self, data: bytes | str | None, message: str | None) -> Mutation:
        from omnigraph.execution.write.mutate import Mutation

        if not self._can_write:
            raise ReadOnly(
                "this blob belongs to a snapshot, which never changes: call g.blob(…) without one",
                commit=self.commit_id,
            )
        params = {**self._address(self._where), "message": message}
        kind = {"Content-Type": "text/plain"} if isinstance(data, str) else {}
        content = data.encode() if isinstance(data, str) else data
        method = "DELETE" if data is None else "PUT"
        done = self._transport.upload(method, "/blob", content, params, kind)
        self._look({"snapshot": done["blob_commit"]})
        counts = (done["affected_nodes"], done["affected_edges"])
        return Mutation(done["commit_id"], *counts, tuple(done["warnings"]))


class _RemoteBytes:
    """The bytes of a blob that is not null."""

    def __init__(self, transport: Transport, address: Mapping[str, Any], size: int) -> None:
        self._transport, self._address, self.size = transport, address, size

    def read(self, offset: int, length: int) -> bytes:
        """Return some of the bytes."""
        if length == 0:
            return b""
        return self._transport.fetch("/blob", self._address, offset, offset + length)
