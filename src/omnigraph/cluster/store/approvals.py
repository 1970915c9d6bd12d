"""Approvals: who allowed an irreversible change, and of exactly what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import NotFound
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import to_full_object
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.records import build_record, decode_record, encode_record
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_new


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """What an approval is bound to; when any of it moves, the approval is stale."""

    config_digest: str
    before: str | None
    """The digest that the ledger records."""
    live: str | None
    """The digest of the schema that the graph itself holds, with its identity."""
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval."""

    id: str
    resource: str
    terms: ApprovalTerms
    actor: str | None = None
    created_at: int = 0
    consumed_at: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the approval as plain JSON data."""
        return to_full_object(self)


class Approvals:
    """The approvals of one cluster."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def list_open(self) -> list[Approval]:
        """Return the approvals that no run has used, oldest first."""
        found = []
        for info in self._store.list(layout.APPROVALS):
            if info.path.endswith(".json"):
                try:
                    data = decode_record(self._store.get(info.path), info.path)
                except NotFound:
                    continue
                found.append(build_record(Approval, data, info.path))
        return [item for item in found if item.consumed_at is None]

    def create(self, resource: str, terms: ApprovalTerms, actor: str | None) -> Approval:
        """Store an approval."""
        made = Approval(new_ulid(), resource, terms, actor, clock.current().now_us())
        put_new(self._store, layout.approval_path(made.id), encode_record(made.to_json()))
        return made

    def note_consumed(self, approval: Approval, at: int) -> None:
        """Write into the file of an approval that it was used; the ledger says so already."""
        used = replace(approval, consumed_at=at)
        self._store.put(layout.approval_path(approval.id), encode_record(used.to_json()))
