"""The graphs that a worker serves now: another revision takes their place at once, and for whole requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from omnigraph.base import clock
from omnigraph.base.errors import OmniError
from omnigraph.server.graphs import ServedGraphs

_log = logging.getLogger("omnigraph.server")
_LOOK_SECONDS = 1.0
_FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 1.0, 60.0
"""Between tries to open graphs that could not be opened; each pause is twice the one before."""


class Revisions(Protocol):
    """Where newer graphs to serve come from."""

    def begin(self) -> ServedGraphs:
        """Return the first ones, or say why a server cannot be started with them."""

    def read_newer(self, before: ServedGraphs, again: bool = False) -> ServedGraphs | None:
        """Return newer ones; None when there are none. With `again` those that are there, opened anew."""


class CurrentGraphs:
    """What is served now. A request, and a job, takes it once and keeps it."""

    def __init__(self, first: ServedGraphs | None, revisions: Revisions | None = None) -> None:
        """Serve graphs as they are given, or the revisions of a cluster."""
        assert (first is None) != (revisions is None)
        self._now = first
        self._revisions = revisions
        self._stopping = threading.Event()
        self._problem: str | None = None
        self._watcher: threading.Thread | None = None
        self._pause = _FIRST_RETRY_SECONDS
        self._retry_at = 0.0
        self.on_change: Callable[[ServedGraphs], None] = lambda _: None
        """Told of graphs when they begin to be served."""

    @property
    def now(self) -> ServedGraphs:
        """The graphs that are served now."""
        assert self._now is not None, "nothing is served before it is opened"
        return self._now

    def open(self) -> None:
        """Open what is served first, and then look for newer revisions until it is closed."""
        if self._revisions is None:
            self.now.open_all()
        else:
            self._now = self._revisions.begin()
        self._begin_pauses()
        if self._revisions is not None or self.now.quarantined:
            self._watcher = threading.Thread(target=self._watch, name="omnigraph-revisions", daemon=True)
            self._watcher.start()
        self.on_change(self.now)

    def look(self) -> None:
        """Take over a newer revision, if there is one, and now and then try again to open what could not be.

        What cannot be read leaves what is served.
        """
        try:
            newer = None if self._revisions is None else self._revisions.read_newer(self.now)
            if newer is None and self.now.quarantined:
                self._try_again()
        except OmniError as error:
            if error.message != self._problem:
                _log.error("the newest revision of the cluster is not served: %s", error.message)
            self._problem = error.message
            return
        self._problem = None
        if newer is not None:
            self._serve(newer)
            self._begin_pauses()
            assert newer.revision is not None
            _log.info("revision %d of the cluster is served", newer.revision.number)

    def _try_again(self) -> None:
        now = clock.current().monotonic()
        if now < self._retry_at:
            return
        self._retry_at, self._pause = now + self._pause, min(2 * self._pause, _LONGEST_RETRY_SECONDS)
        before = self.now
        again = before.try_again() if self._revisions is None else self._revisions.read_newer(before, True)
        assert again is not None, "a revision is read again whether it is newer or not"
        if _facts(again) != _facts(before):
            self._serve(again)
        for name in sorted(set(again.names) - set(before.names)):
            _log.info("graph %s can be opened now, and is served", name)

    def _serve(self, graphs: ServedGraphs) -> None:
        self._now = graphs
        self.on_change(graphs)

    def _begin_pauses(self) -> None:
        self._pause = _FIRST_RETRY_SECONDS
        self._retry_at = clock.current().monotonic() + self._pause

    @property
    def problem(self) -> str | None:
        """Why the newest revision is not the one that is served."""
        return self._problem

    def close(self) -> None:
        """Look no more, and drop what was opened."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
        if self._now is not None:
            self._now.close()

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self.look()
            except Exception as error:
                _log.error("looking for a newer revision failed", exc_info=error)


def _facts(graphs: ServedGraphs) -> tuple[int | None, dict[str, str]]:
    """Return which revision it is, and what cannot be opened of it."""
    number = None if graphs.revision is None else graphs.revision.number
    return number, {name: item.error.message for name, item in graphs.quarantined.items()}
