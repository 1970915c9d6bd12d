"""The thread of a worker that sends webhooks: it follows what happens to proposals, and holds up no write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import OmniError
from omnigraph.graph.proposals.model import ProposalEvent
from omnigraph.sdk.graph import Graph
from omnigraph.server.revisions.current import CurrentGraphs
from omnigraph.server.webhooks.config import Webhook
from omnigraph.server.webhooks.cursor import Place, PlaceFile
from omnigraph.server.webhooks.sending import Undelivered, deliver
from omnigraph.wire.values import encode

_log = logging.getLogger("omnigraph.server.webhooks")
LOOK_SECONDS = 1.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 600.0
GIVEN_UP_SECONDS = 3 * 86_400.0
"""How long an event is sent again and again; then the log says that it was not taken, and the next one is."""
_EVENTS_PER_READ = 10_000


class WebhookRunner:
    """Sends the events of the graphs of one worker."""

    def __init__(self, served: CurrentGraphs, state: Path, hooks: tuple[Webhook, ...]) -> None:
        self._served, self._state, self._hooks = served, state, hooks
        self._stopping = threading.Event()
        self._seen: dict[tuple[str, str], str] = {}
        """By webhook and graph, what the proposals looked like when all events had been sent."""
        self._thread = threading.Thread(target=self._work, name="omnigraph-webhooks", daemon=True)

    def start(self) -> None:
        """Begin to look for events."""
        if self._hooks:
            self._thread.start()

    def stop(self) -> None:
        """Send no more; what was not sent is sent after the next start."""
        self._stopping.set()

    def join(self, seconds: float) -> None:
        """Wait until what is being sent has an answer."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _work(self) -> None:
        while not self._stopping.is_set():
            graphs = self._served.now
            for name in graphs.names:
                for hook in self._hooks:
                    if hook.wants_graph(name) and not self._stopping.is_set():
                        self._look(hook, name, graphs.open_handle(name))
            self._stopping.wait(LOOK_SECONDS)

    def _look(self, hook: Webhook, name: str, graph: Graph) -> None:
        """Send the events of a graph that a webhook has not had."""
        try:
            stands = graph.proposals.stamp()
            if self._seen.get((hook.name, graph.id)) == stands:
                return
            file = PlaceFile(self._state, hook.name, graph.id)
            with file.hold() as is_mine:
                if is_mine and self._send_all(hook, name, graph, file):
                    self._seen[hook.name, graph.id] = stands
        except (OmniError, OSError) as error:
            _log.error("webhook %s cannot look at graph %s: %s", hook.name, name, error)
        except Exception as error:
            _log.error("webhook %s failed at graph %s", hook.name, name, exc_info=error)

    def _send_all(self, hook: Webhook, name: str, graph: Graph, file: PlaceFile) -> bool:
        """Send events in their order; return whether none is left."""
        place = file.read()
        if place.cursor is None:
            file.write(Place(_find_end(graph)))  # what was before is not sent
            return True
        while not self._stopping.is_set():
            now = clock.current().now_us()
            if now < place.not_before:
                return False
            page = graph.proposals.poll(place.cursor, limit=1)
            if not page.events:
                return True
            (event,) = page.events
            if hook.wants(f"proposal.{event.kind}"):
                try:
                    deliver(hook, event_id(graph, hook, event), describe(graph, name, event))
                except Undelivered as error:
                    place = self._put_off(hook, event, place, error)
                    if place.not_before:
                        file.write(place)
                        return False
            place = Place(page.cursor)
            file.write(place)
        return False

    def _put_off(self, hook: Webhook, event: ProposalEvent, place: Place, error: Undelivered) -> Place:
        """Return when an event that was not taken is sent again; without a time it is given up."""
        now = clock.current().now_us()
        since = place.since or now
        what = f"proposal {event.proposal}, event {event.number}"
        if now - since > GIVEN_UP_SECONDS * 1e6:
            _log.error("webhook %s: %s was not taken for too long: %s", hook.name, what, error)
            return replace(place, not_before=0)
        pause = min(FIRST_PAUSE_SECONDS * 2.0**place.failures, LONGEST_PAUSE_SECONDS)
        _log.warning("webhook %s: %s is sent again in %g s: %s", hook.name, what, pause, error)
        return Place(place.cursor, min(place.failures + 1, 32), since, now + int(pause * 1e6))


def event_id(graph: Graph, hook: Webhook, event: ProposalEvent) -> str:
    """Return the id of an event: the same whenever it is sent again."""
    return f"{graph.id}.{event.proposal}.{event.number}.{hook.name}"


def describe(graph: Graph, name: str, event: ProposalEvent) -> Mapping[str, Any]:
    """Return what is told of an event."""
    proposal = graph.proposals.show(event.proposal)
    return {
        "type": f"proposal.{event.kind}",
        "timestamp": event.at.isoformat(),
        "graph": name,
        "data": {
            "proposal": event.proposal,
            "event": event.number,
            "actor": event.actor,
            "facts": encode(event.facts),
            "title": proposal.title,
            "author": proposal.author,
            "source": proposal.source,
            "into": proposal.into,
            "state": proposal.state,
        },
    }


def _find_end(graph: Graph) -> str:
    cursor = None
    while True:
        page = graph.proposals.poll(cursor, limit=_EVENTS_PER_READ)
        cursor = page.cursor
        if not page.events:
            return cursor
