"""Payloads: texts of queries, policies and pipelines, each under the digest of its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from omnigraph.base.errors import CorruptState, NotFound, OmniError, Unavailable
from omnigraph.cluster.config.digests import hash_bytes
from omnigraph.cluster.resources import AppliedResource
from omnigraph.cluster.store import layout
from omnigraph.storage.objects import ObjectStore

PayloadState = Literal["ok", "missing", "mismatched", "unreadable"]


class Payloads:
    """The payloads of one cluster."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def check(self, address: str, digest: str) -> PayloadState:
        """Return how a payload stands."""
        try:
            data = self._store.get(layout.payload_path(address, digest))
        except NotFound:
            return "missing"
        except OmniError:
            return "unreadable"
        return "ok" if hash_bytes(data) == digest else "mismatched"

    def check_all(self, resources: Mapping[str, AppliedResource]) -> dict[str, PayloadState]:
        """Return how the payloads of recorded resources stand."""
        wanted = {address: item.digest for address, item in resources.items() if layout.has_payload(address)}
        return {address: self.check(address, digest) for address, digest in wanted.items()}

    def read(self, address: str, digest: str) -> bytes:
        """Return a payload as it was applied, or say that it is not any more."""
        path = layout.payload_path(address, digest)
        try:
            data = self._store.get(path)
        except NotFound:
            raise CorruptState(
                f"the payload of {address} is missing: run `omnigraph cluster apply`", path=path
            ) from None
        if hash_bytes(data) != digest:
            raise CorruptState(
                f"the payload of {address} is not what was applied: run `omnigraph cluster apply`", path=path
            )
        return data

    def put(self, address: str, digest: str, data: bytes) -> bool:
        """Store a payload unless it is there; return whether it was stored."""
        if self.check(address, digest) == "ok":
            return False
        try:
            self._store.put(layout.payload_path(address, digest), data)
        except Unavailable:
            if self.check(address, digest) != "ok":
                raise
        return True
