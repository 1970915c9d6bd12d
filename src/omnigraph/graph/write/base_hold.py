"""Holds: what a long write stands on, and has staged, is left alone by cleanups while the write goes on.

A hold is a hidden tag on the commit that the write began from. No safety rests on it: fences decide whether a
commit may be published (docs/design/cleanup.md). A hold only says when a cleanup is polite, so anybody may
remove one at any time, and one that is not renewed is ignored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from omnigraph.base import clock
from omnigraph.base.errors import HistoricalVersionReclaimed, OmniError
from omnigraph.base.ids import new_ulid
from omnigraph.base.settings import Settings
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.tags import WRITE_HOLDS, StoredTag
from omnigraph.graph.manifest.truth import Truth

_FIRST_SECONDS = 1.0
"""Most writes are over before, and cost no request more."""
_LOOK_SECONDS = 4.0
_RENEWALS_IN_TIME = 4
_SKEW = timedelta(hours=1)
"""How far the clock of a writer may be ahead of the storage's before its files look older than its hold."""


@dataclass
class BaseHold:
    """The hold of one write."""

    truth: Truth
    settings: Settings
    actor: str | None
    head: CommitRecord
    """The commit that is held, or will be."""
    name: str = ""
    """The name of the tag; empty while nothing is held."""

    def place(self) -> None:
        """Hold the commit; whatever prevents that does not disturb the write."""
        name = f"{WRITE_HOLDS}{new_ulid()}"
        with suppress(OmniError, OSError):
            try:
                self.truth.tags.create(name, self.head, clock.current().now_us(), self.actor)
            except HistoricalVersionReclaimed:
                release_hold(self.truth, name)  # it is void, and its name is never used again
                raise
            before, self.name = self.name, name
            release_hold(self.truth, before)

    def move_to(self, head: CommitRecord) -> None:
        """Hold another commit instead, if one is held."""
        if head.commit != self.head.commit:
            self.head = head
            if self.name:
                self.place()

    def renew(self) -> None:
        """Say that the write goes on."""
        with suppress(OmniError, OSError):
            if not self.truth.tags.renew(self.name):
                self.place()

    def release(self) -> None:
        """Let go of the commit."""
        name, self.name = self.name, ""
        release_hold(self.truth, name)


@contextmanager
def keep_held(hold: BaseHold, look: Callable[[], None], at_once: bool) -> Iterator[None]:
    """Hold a commit while the block runs, if it runs for long, and look at what cleanups do meanwhile."""
    if at_once:
        hold.place()
    over = threading.Event()
    keeper = threading.Thread(target=_keep, args=(hold, look, over), daemon=True, name="omnigraph-hold")
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
        hold.release()


def _keep(hold: BaseHold, look: Callable[[], None], over: threading.Event) -> None:
    if over.wait(_FIRST_SECONDS):
        return
    if not hold.name:
        hold.place()
    every = hold.settings.write_hold_seconds / _RENEWALS_IN_TIME
    renewed = clock.current().monotonic()
    while not over.wait(min(_LOOK_SECONDS, every)):
        with suppress(OmniError, OSError):
            look()
        if clock.current().monotonic() - renewed >= every:
            hold.renew()
            renewed = clock.current().monotonic()


def release_unrenewed(truth: Truth, settings: Settings, now: datetime, tags: tuple[StoredTag, ...]) -> bool:
    """Remove the holds among some tags that were not renewed, or last too long; say if there were any.

    `now` is the time by the clock of the storage, which also dates the holds.
    """
    held = {layout.tag_path(tag.name): tag for tag in tags if tag.name.startswith(WRITE_HOLDS)}
    if not held:
        return False
    oldest = now - timedelta(seconds=settings.write_hold_seconds)
    first = now - timedelta(seconds=settings.write_hold_limit_seconds) - _SKEW
    renewed = {info.path for info in truth.store.list(layout.TAGS) if info.last_modified >= oldest}
    outdated = [path for path, tag in held.items() if path not in renewed or tag.made_at < first]
    for path in outdated:
        truth.store.delete(path)
    return bool(outdated)


def files_held_since(tags: tuple[StoredTag, ...]) -> datetime:
    """Return since when files may belong to a write that holds what it stands on."""
    began = [tag.made_at - _SKEW for tag in tags if tag.name.startswith(WRITE_HOLDS)]
    return min(began, default=datetime.max.replace(tzinfo=UTC))


def release_hold(truth: Truth, name: str) -> None:
    """Let go of what a hold of this name holds; where that fails, it goes when it was not renewed."""
    with suppress(OmniError, OSError):
        if name:  # nobody gives one of these names twice, so it can be removed whatever stands there
            truth.store.delete(layout.tag_path(name))
