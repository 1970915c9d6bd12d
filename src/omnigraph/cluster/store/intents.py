"""Intents: what a run is about to do to a graph, so that the next one knows what it finds."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.base import clock
from omnigraph.base.errors import CorruptState, NotFound, OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import is_ulid, new_ulid
from omnigraph.base.plain import to_full_object
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.records import build_record, decode_record, encode_record
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_new

IntentKind = Literal["graph_create", "schema_apply", "graph_delete"]


@dataclass(frozen=True, slots=True)
class Intent:
    """One movement of a graph."""

    id: str
    kind: str
    graph: str
    created_at: int = 0
    actor: str | None = None
    schema_digest: str | None = None
    """The digest of the schema that is wanted, and of the text that the graph is to hold."""
    config_digest: str | None = None
    approval: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the intent as plain JSON data."""
        return to_full_object(self)


class Intents:
    """The intents of one cluster."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def list(self) -> tuple[list[Intent], list[str]]:
        """Return the intents in the order in which they were made, and the paths that cannot be read."""
        found: list[Intent] = []
        unreadable: list[str] = []
        for info in self._store.list(layout.RECOVERIES):
            name = info.path.rsplit("/", 1)[1]
            if name.startswith("."):
                continue
            try:
                intent = build_record(Intent, decode_record(self._store.get(info.path), info.path), info.path)
            except NotFound:
                continue
            except CorruptState:
                unreadable.append(info.path)
                continue
            if name != f"{intent.id}.json" or not is_ulid(intent.id):
                unreadable.append(info.path)
            else:
                found.append(intent)
        return found, unreadable

    def put(self, kind: IntentKind, graph: str, **facts: Any) -> Intent:
        """Store an intent before its graph is moved."""
        intent = Intent(new_ulid(), kind, graph, clock.current().now_us(), **facts)
        path = layout.intent_path(intent.id)
        try:
            put_new(self._store, path, encode_record(intent.to_json()))
        except OmniError:
            # It may have landed, and nothing will be moved under it.
            with suppress(OmniError):
                self._store.delete(path)
            raise
        return intent

    def remove(self, ids: Iterable[str]) -> None:
        """Remove intents that a state has taken in."""
        for id in ids:
            hit(Failpoint.CLUSTER_BEFORE_INTENT_DELETE)
            self._store.delete(layout.intent_path(id))
