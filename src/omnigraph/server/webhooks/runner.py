"""The threads of a worker that send webhooks, one for each: they hold up no write, and not each other."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path

from omnigraph.base import clock
from omnigraph.base.errors import OmniError
from omnigraph.sdk.graph import Graph
from omnigraph.server.revisions.current import CurrentGraphs
from omnigraph.server.webhooks.config import Webhook
from omnigraph.server.webhooks.cursor import Place, PlaceFile
from omnigraph.server.webhooks.sending import Undelivered, deliver
from omnigraph.server.webhooks.streams import EventStream, HookEvent, list_streams

_log = logging.getLogger("omnigraph.server.webhooks")
LOOK_SECONDS = 1.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 600.0
GIVEN_UP_SECONDS = 3 * 86_400.0
"""How long an event is sent again and again; then the log says that it was not taken, and the next one is."""
_COMMITS = "/commits"
"""Under this name, which no branch has, a file says since when commits are followed."""


class WebhookRunner:
    """Sends the events of the graphs of one worker."""

    def __init__(self, served: CurrentGraphs, state: Path, hooks: tuple[Webhook, ...]) -> None:
        self._served, self._state = served, state
        self._stopping = threading.Event()
        self._seen: dict[tuple[str, str, str | None], str] = {}
        """By webhook, graph and stream, what that looked like when all its events had been sent."""
        self._threads = [
            threading.Thread(
                target=self._work, args=(hook,), name=f"omnigraph-webhook-{hook.name}", daemon=True
            )
            for hook in hooks
        ]

    def start(self) -> None:
        """Begin to look for events."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send no more; what was not sent is sent after the next start."""
        self._stopping.set()

    def join(self, seconds: float) -> None:
        """Wait until what is being sent has an answer."""
        until = clock.current().monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(until - clock.current().monotonic(), 0))

    def _work(self, hook: Webhook) -> None:
        while not self._stopping.is_set():
            graphs = self._served.now
            for name in graphs.names:
                if hook.wants_graph(name) and not self._stopping.is_set():
                    gate = graphs.gate_of(name)
                    tells_facts = gate is None or not gate.has_data_rules
                    self._look(hook, name, graphs.open_handle(name), tells_facts)
            self._stopping.wait(LOOK_SECONDS)

    def _look(self, hook: Webhook, name: str, graph: Graph, tells_facts: bool) -> None:
        """Send the events of a graph that a webhook has not had."""
        try:
            since = PlaceFile(self._state, hook.name, graph.id, _COMMITS)
            for stream in list_streams(hook, graph, since, clock.current().now_us(), tells_facts):
                self._follow(hook, name, graph, stream)
        except (OmniError, OSError) as error:
            _log.error("webhook %s cannot look at graph %s: %s", hook.name, name, error)
        except Exception as error:
            _log.error("webhook %s failed at graph %s", hook.name, name, exc_info=error)

    def _follow(self, hook: Webhook, name: str, graph: Graph, stream: EventStream) -> None:
        stands, key = stream.stamp(), (hook.name, graph.id, stream.name)
        if self._seen.get(key) == stands:
            return
        file = PlaceFile(self._state, hook.name, graph.id, stream.name)
        with file.hold() as is_mine:
            if is_mine and self._send_all(hook, name, stream, file):
                self._seen[key] = stands

    def _send_all(self, hook: Webhook, name: str, stream: EventStream, file: PlaceFile) -> bool:
        """Send events in their order; return whether none is left."""
        place = file.read()
        if place.cursor is None:
            place = Place(stream.begin())  # what was before is not sent
            file.write(place)
        while not self._stopping.is_set():
            assert place.cursor is not None
            if clock.current().now_us() < place.not_before:
                return False
            event, cursor = stream.next(place.cursor)
            if event is None:
                if cursor != place.cursor:
                    file.write(Place(cursor))
                return True
            if hook.wants(event.type):
                try:
                    deliver(hook, f"{event.id}.{hook.name}", event.describe(name))
                except Undelivered as error:
                    place = self._put_off(hook, event, place, error)
                    if place.not_before:
                        file.write(place)
                        return False
            place = Place(cursor)
            file.write(place)
        return False

    def _put_off(self, hook: Webhook, event: HookEvent, place: Place, error: Undelivered) -> Place:
        """Return when an event that was not taken is sent again; without a time it is given up."""
        now = clock.current().now_us()
        since = place.since or now
        if now - since > GIVEN_UP_SECONDS * 1e6:
            _log.error("webhook %s: %s was not taken for too long: %s", hook.name, event.what, error)
            return replace(place, not_before=0)
        pause = min(FIRST_PAUSE_SECONDS * 2.0**place.failures, LONGEST_PAUSE_SECONDS)
        _log.warning("webhook %s: %s is sent again in %g s: %s", hook.name, event.what, pause, error)
        return Place(place.cursor, min(place.failures + 1, 32), since, now + int(pause * 1e6))
