"""Where proposals lie, and the one way to change them: an event is added to what it was decided on."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, CorruptState, NotFound, ResourceLimit
from omnigraph.graph.internals import FindPairs
from omnigraph.graph.manifest import layout
from omnigraph.graph.opening import Core
from omnigraph.graph.proposals.events import EventKind, StoredEvent, StoredProposal, decode_proposal
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

_MIN_BEGINNING_LETTERS = 6
_PROPOSALS_AT_ONCE = 64
_FIT_ALWAYS = (EventKind.MERGE_GIVEN_UP, EventKind.MERGE_ENDED, EventKind.MERGED, EventKind.CLOSED)
"""What ends something is added to a full proposal as well: otherwise nobody could end it."""
_log = logging.getLogger("omnigraph")


@dataclass(frozen=True, slots=True)
class ReadProposal:
    """A proposal, and the tag of the state that was read."""

    stored: StoredProposal
    etag: str


class StoredProposals:
    """The proposals of one graph."""

    def __init__(self, store: ObjectStore, most_bytes: int) -> None:
        self._store, self._most_bytes = store, most_bytes

    def create(self, id: str, created: StoredEvent) -> StoredProposal | None:
        """Store a new proposal; None when there is one of this id."""
        stored = StoredProposal(id, (created,))
        etag = put_over(self._store, layout.proposal_path(id), self._encode(stored), None)
        return None if etag is None else stored

    def read(self, id: str) -> ReadProposal:
        """Return a proposal by its id."""
        path = layout.proposal_path(id)
        try:
            found = self._store.get_versioned(path)
        except NotFound:
            raise no_proposal(id) from None
        return ReadProposal(decode_proposal(found.data, path), found.etag)

    def add(self, read: ReadProposal, event: StoredEvent) -> ReadProposal | None:
        """Add an event to a proposal as it was read; None when others have added one since."""
        stored = replace(read.stored, events=(*read.stored.events, event))
        data = stored.encode() if event.kind in _FIT_ALWAYS else self._encode(stored)
        etag = put_over(self._store, layout.proposal_path(stored.id), data, read.etag)
        if etag is not None:
            return ReadProposal(stored, etag)
        # Perhaps it was added, the answer was lost, and others have added to it: a proposal only grows.
        now = self.read(stored.id)
        then = replace(now.stored, events=now.stored.events[: len(stored.events)])
        return now if then.encode() == data else None

    def find_id(self, name: str) -> str:
        """Return the id that a user means: a whole one, or the beginning of one alone."""
        if not isinstance(name, str) or not (name.isascii() and name.isalnum()):
            raise BadInput(f"{name!r} is not the id of a proposal: it is 26 letters and digits")
        wanted = name.upper()
        if len(wanted) == layout.PROPOSAL_ID_LENGTH:
            return wanted
        found = [id for id in self.ids() if len(wanted) >= _MIN_BEGINNING_LETTERS and id.startswith(wanted)]
        if len(found) > 1:
            raise BadInput(f"{name!r} is the beginning of {len(found)} proposals: give more of the id")
        if not found:
            raise no_proposal(name)
        return found[0]

    def ids(self) -> list[str]:
        """Return the ids of all proposals, newest first."""
        found = layout.own(self._store.list(layout.PROPOSALS))
        return sorted((layout.proposal_of(info.path) for info in found), reverse=True)

    def stamp(self) -> str:
        """Return what is another text whenever something has happened: a proposal only grows."""
        found = sorted((info.path, info.size) for info in layout.own(self._store.list(layout.PROPOSALS)))
        return hashlib.blake2b(repr(found).encode(), digest_size=16).hexdigest()

    def read_all(self, ids: list[str]) -> Iterator[StoredProposal]:
        """Yield proposals, some reads at a time; the log tells of those that cannot be read."""
        for start in range(0, len(ids), _PROPOSALS_AT_ONCE):
            paths = [layout.proposal_path(id) for id in ids[start : start + _PROPOSALS_AT_ONCE]]
            for path, data in zip(paths, self._store.get_many(paths), strict=True):
                try:
                    if data is not None:
                        yield decode_proposal(data, path)
                except CorruptState as error:
                    _log.warning("a proposal is not listed: %s", error.message)

    def _encode(self, stored: StoredProposal) -> bytes:
        data = stored.encode()
        if len(data) > self._most_bytes:
            raise ResourceLimit(
                f"proposal {stored.id} would have {len(data)} bytes, the limit is {self._most_bytes}: say "
                "less, open another one, or raise OMNIGRAPH_PROPOSAL_BYTES",
                resource="proposal_bytes",
                limit=self._most_bytes,
                actual=len(data),
            )
        return data


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """The proposals of an open graph, for one actor."""

    core: Core
    actor: str | None
    can_write: bool = True
    find_pairs: FindPairs | None = None
    """Runs stored queries that find one thing under two ids."""

    @property
    def stored(self) -> StoredProposals:
        """Where they lie."""
        return StoredProposals(self.core.truth.store, self.core.settings.proposal_bytes)

    def make_event(self, kind: EventKind, facts: Mapping[str, Any]) -> StoredEvent:
        """Return an event of now."""
        return StoredEvent(kind, self.actor, clock.current().now_us(), facts)


def no_proposal(id: str) -> NotFound:
    """Return the error for a proposal that does not exist."""
    return NotFound(f"there is no proposal {id!r}", proposal=id)
