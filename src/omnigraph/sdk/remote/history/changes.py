"""The change feed of a served graph."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omnigraph.base.choices import ChangeOp, EntityKind, FeedEvents
from omnigraph.execution.export.export import record_line
from omnigraph.graph.changes.model import ChangeBlock, ChangeFilter
from omnigraph.sdk.changes import Baseline, Changes
from omnigraph.sdk.proposals.events import ChangePage, wants_proposals
from omnigraph.sdk.remote.history.decoding import read_feed_page
from omnigraph.sdk.remote.requests.gaps import refuse
from omnigraph.sdk.remote.requests.ndjson import ask_records
from omnigraph.sdk.remote.requests.transport import Transport, with_params
from omnigraph.storage.files.outputs import local_path, whole_file


class RemoteChanges:
    """The changes of a served graph's branches, as they happen."""

    stands_for = Changes

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def poll(
        self,
        *,
        branch: str | None = None,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        commits: int | None = None,
        events: Sequence[FeedEvents] | None = None,
    ) -> ChangePage:
        """Return what a branch committed after a cursor, or from `start`: now, beginning, after:<commit>."""
        ChangeFilter.of(kinds, types, ops)
        wants_proposals(events)
        place = {"branch": branch, "cursor": cursor, "start": start, "page_token": page_token}
        only = {"kinds": kinds, "types": types, "ops": ops}
        most = {"limit": limit, "max_bytes": max_bytes, "commits": commits, "events": events}
        return read_feed_page(self._transport.ask("/changes", **place, **only, **most))

    def baseline(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        branch: str | None = None,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
    ) -> Baseline | Iterator[dict[str, Any]]:
        """Return every entity of a branch's head, then a cursor; or write them to a file, one a line."""
        ChangeFilter.of(kinds, types, ops)
        path = local_path(target) if target is not None else None
        wanted = {"branch": branch, "kinds": kinds, "types": types, "ops": ops}
        records = ask_records(self._transport, with_params("/changes/baseline", wanted), {})
        if path is None:
            return records
        record: Mapping[str, Any] = {}
        with whole_file(path) as file:
            for record in records:
                file.write(record_line(record))
        end = record["baseline"]
        return Baseline(str(path), end["snapshot_commit_id"], end["resume_cursor"])

    def apply(
        self, *parts: ChangeBlock | Mapping[str, Any], branch: str | None = None, message: str | None = None
    ) -> str | None:
        """Apply a block of another graph's feed to this one; return the commit, None when nothing changed."""
        data = [part.to_json() if isinstance(part, ChangeBlock) else part for part in parts]
        body = {"parts": data, "branch": branch, "message": message}
        found: str | None = self._transport.act("POST", "/changes/apply", body)["commit"]
        return found

    def stream_writer(self, *, app_id: str, branch: str | None = None) -> Any:
        """Refuse: the tasks of Spark write to the storage of a graph themselves."""
        raise refuse("a stream of Spark")
