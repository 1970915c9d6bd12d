"""What webhooks are told, event after event: what happens to proposals, and the commits of branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from omnigraph.base.errors import BranchGone, HistoricalVersionReclaimed, NotFound
from omnigraph.graph.branches.listing import list_branches
from omnigraph.graph.changes.feed.first_parents import FirstParents
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.proposals.model import ProposalEvent
from omnigraph.sdk.graph import Graph
from omnigraph.server.webhooks.config import Webhook
from omnigraph.server.webhooks.cursor import Place, PlaceFile
from omnigraph.wire.values import encode

_EVENTS_PER_READ = 10_000
_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event, whoever is told."""

    type: str
    id: str
    """The same whenever it is sent again; of the graph alone."""
    what: str
    """What a log calls it."""
    describe: Callable[[str], Mapping[str, Any]]
    """Returns what is told of it, given the name of the graph."""


class EventStream(Protocol):
    """Events in their order. A cursor stands between two of them."""

    @property
    def name(self) -> str | None:
        """What the file is called after that says how far a webhook is, beside the graph."""

    def stamp(self) -> str:
        """Return what is another text whenever there may be something new."""

    def begin(self) -> str:
        """Return the cursor of a webhook that is new: after all that was before it."""

    def next(self, cursor: str) -> tuple[HookEvent | None, str]:
        """Return the event after a cursor, None when there is none yet, and the cursor after it."""


@dataclass
class ProposalStream:
    """What happens to proposals."""

    graph: Graph
    tells_facts: bool
    """Whether receivers may know what events say of the data, such as comments, answers and failed checks."""
    name: str | None = None

    def stamp(self) -> str:
        """Return what is another text whenever something has happened to a proposal."""
        return self.graph.proposals.stamp()

    def begin(self) -> str:
        """Return the cursor after all that has happened."""
        cursor = None
        while True:
            page = self.graph.proposals.poll(cursor, limit=_EVENTS_PER_READ)
            cursor = page.cursor
            if not page.events:
                return cursor

    def next(self, cursor: str) -> tuple[HookEvent | None, str]:
        """Return the next event."""
        page = self.graph.proposals.poll(cursor, limit=1)
        if not page.events:
            return None, page.cursor
        (event,) = page.events
        what = f"proposal {event.proposal}, event {event.number}"
        id = f"{self.graph.id}.{event.proposal}.{event.number}"
        return HookEvent(
            f"proposal.{event.kind}", id, what, lambda name: self._describe(name, event)
        ), page.cursor

    def _describe(self, graph: str, event: ProposalEvent) -> Mapping[str, Any]:
        told = self.graph.proposals.show(event.proposal)
        return {
            "type": f"proposal.{event.kind}",
            "timestamp": event.at.isoformat(),
            "graph": graph,
            "data": {
                "proposal": event.proposal,
                "event": event.number,
                "actor": event.actor,
                "facts": encode(event.facts) if self.tells_facts else {},
                "title": told.title,
                "author": told.author,
                "source": told.source,
                "into": told.into,
                "state": told.state,
            },
        }


@dataclass
class CommitStream:
    """The commits of a branch, along first parents; what only keeps the graph in order is none of them."""

    graph: Graph
    state: BranchState
    known_since: int | None
    """When a webhook looked at the graph first, in microseconds; None when that is now."""

    @property
    def name(self) -> str | None:
        """The name of the branch."""
        return self.state.ref.name

    def stamp(self) -> str:
        """Return the newest commit."""
        return f"{self.state.ref.incarnation}:{self.state.head.commit}"

    def begin(self) -> str:
        """Return the newest commit; of a branch that was made since the webhook was, where it began."""
        ref = self.state.ref
        is_later = ref.fork is not None and self.known_since is not None and ref.created_at > self.known_since
        return self._cursor(ref.fork_seq if is_later else self.state.head.seq)

    def next(self, cursor: str) -> tuple[HookEvent | None, str]:
        """Return the next commit."""
        incarnation, _, told = cursor.partition(":")
        # One that was rebased, or made again, is another branch, whose commits begin where it does.
        seq = int(told) if incarnation == self.state.ref.incarnation else self.state.ref.fork_seq
        line = FirstParents(self.graph.internals.core.truth, self.state)
        while seq < self.state.head.seq:
            seq += 1
            try:
                record = None if line.is_passed_over(seq) else line.record(seq)
            except HistoricalVersionReclaimed:
                continue  # a cleanup has removed it before it was sent
            if record is not None and record.commit_class is CommitClass.LOGICAL:
                return self._event(record), self._cursor(seq)
        return None, self._cursor(seq)

    def _cursor(self, seq: int) -> str:
        return f"{self.state.ref.incarnation}:{seq}"

    def _event(self, record: CommitRecord) -> HookEvent:
        type_ = f"commit.{record.operation}"

        def describe(graph: str) -> Mapping[str, Any]:
            commit = Commit.of(record).without_measures()
            data = {
                "commit": commit.id,
                "parent": commit.parent,
                "merged_parent": commit.merged_parent,
                "branch": self.state.ref.name,
                "version": commit.version,
                "actor": commit.actor,
                "author": commit.author,
                "operation": commit.operation,
                "message": commit.message,
                "metadata": dict(commit.metadata),
            }
            at = datetime.fromtimestamp(record.created_at / 1e6, UTC)
            return {"type": type_, "timestamp": at.isoformat(), "graph": graph, "data": data}

        return HookEvent(type_, f"{self.graph.id}.{record.commit}", f"commit {record.commit}", describe)


def list_streams(
    hook: Webhook, graph: Graph, since: PlaceFile, now_us: int, tells_facts: bool
) -> Iterator[EventStream]:
    """Yield what a webhook follows in a graph; `since` keeps when it looked at its commits first."""
    if "proposal" in hook.follows:
        yield ProposalStream(graph, tells_facts)
    if "commit" not in hook.follows:
        return
    patterns, place = ",".join(hook.branches), since.read()
    known_since = place.since if place.cursor == patterns else None
    for state in _list_states(hook, graph):
        yield CommitStream(graph, state, known_since)
    if known_since is None:
        since.write(Place(patterns, since=now_us))


def _list_states(hook: Webhook, graph: Graph) -> Iterator[BranchState]:
    truth = graph.internals.core.truth
    named = [item for item in hook.branches if _WILDCARDS.isdisjoint(item)]
    found = named if len(named) == len(hook.branches) else list_branches(truth)
    for name in found:
        try:
            if hook.wants_branch(name):
                yield truth.state(name)
        except (NotFound, BranchGone):
            continue  # it is not there yet, or no more
