"""Cutting a stream of changes into pages, and keeping a stream for whoever asks for its next page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.base.errors import BadInput, ResourceLimit
from omnigraph.base.lru import Lru
from omnigraph.graph.changes.model import Change

DEFAULT_CHANGES, MOST_CHANGES = 1_000, 8_192
DEFAULT_BYTES, MOST_BYTES = 4 * 1024 * 1024, 32 * 1024 * 1024
_MAX_KEPT_PAGES = 16


@dataclass
class PageBudget:
    """What a page may still hold. Bytes are a target: a change that is larger comes alone."""

    changes: int
    bytes: int
    used: int = field(default=0, init=False)

    @staticmethod
    def of(limit: int | None, max_bytes: int | None) -> PageBudget:
        """Return the budget that a caller asked for."""
        return PageBudget(
            whole("limit", limit, DEFAULT_CHANGES, MOST_CHANGES),
            whole("max_bytes", max_bytes, DEFAULT_BYTES, MOST_BYTES),
        )

    def takes(self, change: Change) -> bool:
        """Take a change into the page if it fits."""
        size = len(json.dumps(change.to_json(), ensure_ascii=False).encode())
        if self.changes == 0 or (self.used and size > self.bytes):
            return False
        self.changes -= 1
        self.bytes -= size
        self.used += 1
        return True

    @property
    def is_spent(self) -> bool:
        """Whether not even one small change fits."""
        return self.changes == 0 or self.bytes <= 0


@dataclass
class ChangeStream:
    """Changes that come one by one, with a look at the next."""

    rest: Iterator[Change]
    passed: int = 0
    """How many changes have been taken, those of earlier pages included."""
    _next: Change | None = None

    def fill(self, budget: PageBudget) -> tuple[Change, ...]:
        """Take as many changes as fit."""
        taken: list[Change] = []
        while (change := self.peek()) is not None and budget.takes(change):
            taken.append(change)
            self.passed += 1
            self._next = None
        return tuple(taken)

    def peek(self) -> Change | None:
        """Return the next change; None at the end."""
        if self._next is None:
            self._next = next(self.rest, None)
        return self._next


class OpenStreams:
    """Streams that stopped at the end of a page, by the token of the next one: each can be taken once.

    Nothing depends on them: a token whose stream is gone begins a new one and passes over what came before.
    """

    def __init__(self, capacity: int = _MAX_KEPT_PAGES) -> None:
        self._streams: Lru[tuple[int, str], ChangeStream] = Lru(capacity)

    def put(self, owner: object, token: str, stream: ChangeStream) -> None:
        """Keep a stream; it holds its owner, so that the owner's number stays its own."""
        self._streams.put((id(owner), token), stream)

    def take(self, owner: object, token: str | None) -> ChangeStream | None:
        """Return the stream that continues at a token, if it is still here."""
        return self._streams.pop((id(owner), token)) if token is not None else None


kept = OpenStreams()
"""Of this process."""


def whole(name: str, given: int | None, default: int, most: int) -> int:
    """Return a limit that the caller gave, or the default."""
    if given is None:
        return default
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise BadInput(f"{name} is {given!r}: it must be a whole number of 1 or more")
    if given > most:
        raise ResourceLimit(
            f"{name} is {given}, and at most {most} are given at a time: ask for the next page instead",
            resource=name,
            limit=most,
            actual=given,
        )
    return given
