"""The ledger: what was applied, in one object that is only ever replaced as it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.base.errors import AlreadyExists, CorruptState, NotFound, StateCasMismatch
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import to_plain
from omnigraph.cluster.resources import AppliedResource
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.records import build_record, decode_record, encode_record
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

_KEPT_RECORDS = 200
"""Records of approvals and recoveries that the ledger remembers."""


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """How a resource stands, and why when that needs saying."""

    status: str
    """pending, planned, applying, applied, drifted, blocked or error."""
    message: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What the ledger holds."""

    name: str = ""
    """The cluster's."""
    revision: int = 0
    config_digest: str | None = None
    """Of the configuration that the cluster has converged to; None while it has not."""
    resources: Mapping[str, AppliedResource] = field(default_factory=dict)
    statuses: Mapping[str, ResourceStatus] = field(default_factory=dict)
    approvals: tuple[Mapping[str, Any], ...] = ()
    """Approvals that were used."""
    recoveries: tuple[Mapping[str, Any], ...] = ()
    """Intents of runs that died, and what became of them."""
    observations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What was seen of graphs: also those that were deleted."""
    settled: tuple[str, ...] = ()
    """Intents that this state has taken in; their files may still be there."""

    def with_changes(self, **given: Any) -> LedgerState:
        """Return the state with other values; mappings are sorted, so that equal states are equal bytes."""
        for name in ("resources", "statuses", "observations"):
            if name in given:
                given[name] = dict(sorted(given[name].items()))
        for name in ("approvals", "recoveries", "settled"):
            if name in given:
                given[name] = tuple(given[name])[-_KEPT_RECORDS:]
        return replace(self, **given)


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state as it is stored, and the tag to replace it by."""

    state: LedgerState
    etag: str


class Ledger:
    """The state object of one cluster."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def read(self) -> StoredState | None:
        """Return the state; None when there is none yet."""
        try:
            found = self._store.get_versioned(layout.STATE)
        except NotFound:
            return None
        return StoredState(decode_state(found.data), found.etag)

    def create(self, state: LedgerState) -> LedgerState:
        """Store the first state, or say that there is one."""
        first = state.with_changes(revision=1)
        if put_over(self._store, layout.STATE, _encode(first, new_ulid()), None) is None:
            raise AlreadyExists(
                f"{self._store.root_uri} has a state already: use plan and apply, or refresh",
                path=layout.STATE,
            )
        return first

    def swap(self, before: StoredState, state: LedgerState) -> LedgerState:
        """Replace the state that was read, or raise `StateCasMismatch` when it is not the newest any more."""
        after = state.with_changes(revision=before.state.revision + 1)
        if put_over(self._store, layout.STATE, _encode(after, new_ulid()), before.etag) is None:
            raise StateCasMismatch(
                f"somebody else has changed the state of {self._store.root_uri} since revision "
                f"{before.state.revision} was read: theirs is kept; run the command again",
                path=layout.STATE,
                expected=before.state.revision,
            )
        return after


def decode_state(data: bytes) -> LedgerState:
    """Return a stored state."""
    document = decode_record(data, layout.STATE)
    applied = document.get("applied_revision") or {}
    if not isinstance(applied, dict):
        raise CorruptState(f"{layout.STATE} is damaged: applied_revision is not an object", path=layout.STATE)
    return build_record(
        LedgerState,
        {
            "name": document.get("name", ""),
            "revision": document.get("state_revision", 0),
            "config_digest": applied.get("config_digest"),
            "resources": applied.get("resources", {}),
            "statuses": document.get("resource_statuses", {}),
            "approvals": document.get("approval_records", []),
            "recoveries": document.get("recovery_records", []),
            "observations": document.get("observations", {}),
            "settled": document.get("settled_intents", []),
        },
        layout.STATE,
    )


def _encode(state: LedgerState, writer: str) -> bytes:
    """Return a state as it is stored; `writer` tells it from the same state of others."""
    plain = to_plain(state)
    return encode_record(
        {
            "name": state.name,
            "state_revision": state.revision,
            "written_by": writer,
            "applied_revision": {
                "config_digest": state.config_digest,
                "resources": plain.get("resources", {}),
            },
            "resource_statuses": plain.get("statuses", {}),
            "approval_records": plain.get("approvals", []),
            "recovery_records": plain.get("recoveries", []),
            "observations": plain.get("observations", {}),
            "settled_intents": plain.get("settled", []),
        }
    )
