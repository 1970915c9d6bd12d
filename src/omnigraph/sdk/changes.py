"""The change feed as users see it: poll, baseline, apply."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import ChangeOp, EntityKind, FeedEvents
from omnigraph.execution.export.export import choose_types, export_records, record_line
from omnigraph.graph.changes.blocks import join_pages
from omnigraph.graph.changes.feed.feed import Feed
from omnigraph.graph.changes.model import ChangeBlock, ChangeFilter
from omnigraph.graph.changes.paging import DEFAULT_CHANGES
from omnigraph.graph.changes.replay import replay
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.jobs.replay import ReplayWriter
from omnigraph.sdk.proposals.events import ChangePage, add_proposals, split_token, wants_proposals
from omnigraph.storage.files.outputs import local_path, whole_file

if TYPE_CHECKING:
    from omnigraph.sdk.reading import ReadableGraph


@dataclass(frozen=True, slots=True)
class Baseline:
    """A snapshot that was written, and the cursor from which the feed continues it."""

    path: str
    snapshot_commit_id: str
    resume_cursor: str


class Changes:
    """The changes of a graph's branches, as they happen."""

    def __init__(self, graph: ReadableGraph) -> None:
        self._graph = graph
        self._internals = graph.internals

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
        """Return what a branch committed after a cursor, or from `start`: now, beginning, after:<commit>.

        With `events=("commits", "proposals")` the page also has what has happened to proposals from the
        branch or into it, and its cursor stands in both.
        """
        self._internals.check_allowed("read", self._internals.resolve_branch(branch))
        has_proposals = wants_proposals(events)
        place, seen = split_token(cursor, has_proposals)
        token, seen_inside = split_token(page_token, has_proposals)
        feed = self._feed(branch, ChangeFilter.of(kinds, types, ops))
        most = DEFAULT_CHANGES if limit is None else limit
        happened = None
        if has_proposals:
            from omnigraph.sdk.proposals.handle import Proposals

            # Looked for first: what an event tells of has been committed by the time that commits are.
            from_now = start == "now" or not (place or token or start)
            proposals = Proposals(self._graph)
            happened = proposals._poll_about(feed.state.ref.name, seen or seen_inside, most, from_now)
        page = feed.poll(place, start, token, limit, max_bytes, commits)
        return add_proposals(page, happened, most)

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
        only = ChangeFilter.of(kinds, types, ops)
        path = local_path(target) if target is not None else None
        self._internals.check_allowed("export", self._internals.resolve_branch(branch))
        feed = self._feed(branch, only)
        head = feed.state.head
        snapshot = Snapshot(
            self._internals.core, head, feed.state.ref.name, self._graph.policy, self._graph.actor
        )
        wanted = _select_tables(snapshot, only)
        end = {"snapshot_commit_id": head.commit, "resume_cursor": feed.cursor_at(head)}
        if path is None:
            return _records(snapshot, wanted, end)
        with whole_file(path) as file:
            for record in _records(snapshot, wanted, end):
                file.write(record_line(record))
        return Baseline(str(path), head.commit, end["resume_cursor"])

    def apply(
        self, *parts: ChangeBlock | Mapping[str, Any], branch: str | None = None, message: str | None = None
    ) -> str | None:
        """Apply a block of another graph's feed to this one; return the commit, None when nothing changed.

        A block that came in several pages is applied with all its parts. This graph must have been made with
        the schema of the feed's first block, so that identities agree.
        """
        self._internals.check_allowed("change", self._internals.resolve_branch(branch))
        data = join_pages([part.to_json() if isinstance(part, ChangeBlock) else part for part in parts])
        record = replay(self._graph, data, branch, message)
        return record.commit if record is not None else None

    def stream_writer(self, *, app_id: str, branch: str | None = None) -> ReplayWriter:
        """Return a function for `foreachBatch` of Spark that carries out another graph's feed on this one.

        The stream is `spark.readStream.format("omnigraph").option("changes", …)`. Each block lands once.
        """
        self._internals.check_allowed("change", self._internals.resolve_branch(branch))
        self._internals.check_writable()
        return ReplayWriter(self._graph, app_id, branch)

    def _feed(self, branch: str | None, only: ChangeFilter) -> Feed:
        access = self._internals.make_access()
        return Feed(self._internals.core, self._internals.read_state(branch), only, access)


def _select_tables(snapshot: Snapshot, only: ChangeFilter) -> list[str]:
    known = choose_types(snapshot.catalog, sorted(only.types) if only.types is not None else None)
    return [table.table_key for table in known if only.wants_type(table.kind, [table.name])]


def _records(snapshot: Snapshot, wanted: Sequence[str], end: dict[str, str]) -> Iterator[dict[str, Any]]:
    yield from export_records(snapshot, wanted)
    yield {"baseline": end}
