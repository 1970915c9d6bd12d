"""Idempotency keys: a write that is sent again answers with the commit that it became the first time.

A key is claimed before the write begins: the claim fixes the id of the commit that the write will become.
Whoever sends the same key finds the claim and uses the same id, and a commit id lands at most once on a
chain: so of any number of tries, at the same time or one after the other, one becomes a commit. A key belongs
to one branch. Claims are made void by cleanup when they are older than `idempotency_seconds`: until then a
key is remembered. A void claim can be taken over, and goes with a later cleanup.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, Contention, CorruptState, NotFound
from omnigraph.base.ids import chain_of
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.lineage import find_in_chain
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.outcome import Published
from omnigraph.storage.objects.lost_answers import put_over

MAX_KEY_BYTES = 1024
_MAX_LOST_SWAPS = 8
_log = logging.getLogger("omnigraph")


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """A key, the commit that it stands for, and what kind of write claimed it."""

    key: str
    commit: str
    operation: str
    created_at: int
    landed: bool = False
    """Set before a cleanup drops the commit: it will not be found any more."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the caller was told, once it has landed."""
    void: bool = False
    """Set when a cleanup has forgotten the key: it can be claimed anew."""

    @property
    def name(self) -> str:
        """The name of the claim."""
        return _name(self.key)

    def encode(self) -> bytes:
        """Return the claim as stored."""
        return stored_format.encode_value(self, layout.key_path(chain_of(self.commit), self.name))


def check_key(key: str | None) -> str | None:
    """Return an idempotency key as it is, or say what is wrong with it."""
    if key is None:
        return None
    if not isinstance(key, str) or not key:
        raise BadInput(f"idempotency_key is {key!r}: it must be a string that is not empty, or None")
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise BadInput(f"idempotency_key is {key!r}: it holds half of a surrogate pair") from None
    if size > MAX_KEY_BYTES:
        raise BadInput(f"idempotency_key has more than {MAX_KEY_BYTES} bytes: use a shorter one, or its hash")
    return key


def claim_key(truth: Truth, incarnation: str, key: str, commit: str, operation: str) -> KeyClaim:
    """Return the claim of a key on a chain: this one, or the one that was there before."""
    claim = KeyClaim(key, commit, operation, clock.current().now_us())
    path = layout.key_path(incarnation, claim.name)
    for _ in range(_MAX_LOST_SWAPS):
        standing = _read_versioned(truth, path)
        if standing is None or standing[0].void:
            etag = standing[1] if standing is not None else None
            if put_over(truth.store, path, claim.encode(), etag) is not None:
                return claim
            continue  # another try has claimed it
        before, etag = standing
        _must_be_alike(before, claim)
        # The time that a key is remembered begins anew with each try that may land.
        renewed = replace(before, created_at=claim.created_at)
        if before.landed or put_over(truth.store, path, renewed.encode(), etag) is not None:
            return before
    raise Contention(f"idempotency_key {key!r} is being used by many writers: try again", key=key)


def find_landed(truth: Truth, state: BranchState, claim: KeyClaim) -> Published | None:
    """Return the commit that a claim has become on a branch, up to the state at hand."""
    own = state.head if state.head.incarnation == state.ref.incarnation else None
    found = _find_landed_in(truth, state.ref.incarnation, own, claim)
    if found is not None:
        return found
    paths = [layout.key_path(incarnation, claim.name) for incarnation in state.ref.predecessors]
    for incarnation, path, data in zip(
        state.ref.predecessors, paths, truth.store.get_many(paths), strict=True
    ):
        before = decode_claim(data, path) if data is not None else None
        if before is None or before.void:
            continue
        _must_be_alike(before, claim)
        found = _find_landed_in(truth, incarnation, truth.newest_of(incarnation), before)
        if found is not None:
            return found
    return None


def _find_landed_in(
    truth: Truth, incarnation: str, newest: CommitRecord | None, claim: KeyClaim
) -> Published | None:
    if newest is not None:
        found = find_in_chain(truth.chains, newest, truth.chains.floor(incarnation), claim.commit)
        if found is not None:
            return Published.as_stored(found)
    # A cleanup says so in the claim before it drops the commit, so this comes after the search.
    now = _read(truth, incarnation, claim.name)
    if now is None or now.void or not now.landed:
        return None
    return Published(now.commit, now.answer)


def read_claim(truth: Truth, incarnation: str, key: str) -> KeyClaim | None:
    """Return the claim of a key on a chain; None when nobody has claimed it, or it is forgotten."""
    found = _read(truth, incarnation, _name(key))
    return None if found is None or found.void else found


def note_landed(truth: Truth, record: CommitRecord) -> None:
    """Keep in the claim of its key what is known of a commit that is about to be dropped.

    A damaged claim stops nobody here: whoever sends its key is told that it is damaged, and writes nothing.
    """
    path = layout.key_path(record.incarnation, record.key)
    for _ in range(_MAX_LOST_SWAPS if record.key else 0):
        try:
            stored = truth.store.get_versioned(path)
            claim = decode_claim(stored.data, path)
        except NotFound:
            return
        except CorruptState as error:
            _log.warning("an idempotency key of commit %s is not kept: %s", record.commit, error)
            return
        if claim.commit != record.commit or claim.landed or claim.void:
            return
        landed = replace(claim, landed=True, answer=record.answer)
        if put_over(truth.store, path, landed.encode(), stored.etag) is not None:
            return


def forget_keys(truth: Truth, before: datetime) -> None:
    """Void the claims that were made, or renewed, before a moment; remove those that were void before it.

    A claim is made void only as it was found to be outdated: a try that has renewed it meanwhile keeps it. No
    store deletes conditionally, so what goes has been void for as long as a key is remembered.
    """
    limit = before.timestamp() * 1e6
    for info in layout.own(truth.store.list(layout.KEYS)):
        if info.last_modified >= before:
            continue
        try:
            standing = _read_versioned(truth, info.path)
        except CorruptState:
            truth.store.delete(info.path)
            continue
        if standing is None or standing[0].created_at >= limit:
            continue
        claim, etag = standing
        if claim.void:
            truth.store.delete(info.path)
        else:
            voided = replace(claim, void=True, created_at=clock.current().now_us(), answer={})
            put_over(truth.store, info.path, voided.encode(), etag)


def _read_versioned(truth: Truth, path: str) -> tuple[KeyClaim, str] | None:
    try:
        stored = truth.store.get_versioned(path)
    except NotFound:
        return None
    return decode_claim(stored.data, path), stored.etag


def decode_claim(data: bytes, path: str) -> KeyClaim:
    """Build a claim from its stored form."""
    return stored_format.decode_value(data, path, "claim", KeyClaim)


def _must_be_alike(claim: KeyClaim, mine: KeyClaim) -> None:
    if claim.operation != mine.operation:
        raise BadInput(
            f"idempotency_key {mine.key!r} was used for a {claim.operation}, not for a {mine.operation}: "
            "use a key for one write",
            key=mine.key,
            commit=claim.commit,
        )


def used_by_another_error(claim: KeyClaim) -> BadInput:
    """Return the error for a key whose write is not known to be that of who sends it."""
    return BadInput(
        f"idempotency_key {claim.key!r} was used by another actor, or long ago: use a key of your own",
        key=claim.key,
    )


def _read(truth: Truth, incarnation: str, name: str) -> KeyClaim | None:
    path = layout.key_path(incarnation, name)
    try:
        return decode_claim(truth.store.get(path), path)
    except NotFound:
        return None


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
