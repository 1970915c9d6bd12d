"""The claim of a root that a backup is being restored to: which run of which restore may write there.

A run that finds a claim takes it over by a conditional write, whether or not its owner lives. Before it
writes, a run looks whether the claim is still its own. When all is there it seals the claim, again by a
conditional write: a claim that was taken over cannot be sealed by who had it before, and one that is sealed
is not taken over. Only a root whose claim is sealed becomes a graph. So while a claim is found to be one's
own, and not sealed, there is no graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from omnigraph.base.errors import AlreadyExists, Contention, NotFound, OmniError, PreconditionFailed
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import json_name
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

CLAIM = layout.RESTORE_CLAIM
"""Where the claim lies; it is gone when the restore is done."""
_MAX_LOST_SWAPS = 8


@dataclass(frozen=True, slots=True)
class RestoreClaim:
    """Which backup is being restored, the id that the graph will have, and the run that fills the root."""

    backup: str
    graph_id: str = field(metadata=json_name("graph"))
    run: str = field(default_factory=new_ulid)
    """A fencing token: who finds another one here was overtaken."""
    is_sealed: bool = field(default=False, metadata=json_name("sealed"))
    """Set when everything but the stamp is there."""

    def encode(self) -> bytes:
        """Return the claim as stored."""
        return stored_format.encode_value(self, CLAIM)


@dataclass(frozen=True)
class ClaimedRoot:
    """A root, and the claim with which it may be written."""

    root: ObjectStore
    claim: RestoreClaim
    goes_on: bool
    """Whether another run had begun."""

    def check(self) -> None:
        """Stop when another run has taken over."""
        if standing_claim(self.root) != self.claim:
            raise self._overtaken_error()

    def create(self, path: str, data: bytes) -> None:
        """Write an object that is not there; one that is there and differs was damaged, and is replaced."""
        self.check()
        try:
            self.root.create(path, data)
        except AlreadyExists:
            self._compare(path, data)

    def seal(self) -> None:
        """Say that everything is there: no run writes anything but the stamp from now on."""
        sealed = replace(self.claim, is_sealed=True)
        found = _read(self.root)
        if found is None or found[0] != self.claim or not _swap(self.root, sealed, found[1]):
            raise self._overtaken_error()

    def _compare(self, path: str, data: bytes) -> None:
        try:
            found = self.root.get_versioned(path)
        except NotFound:
            raise self._overtaken_error() from None
        if found.data == data:
            return
        # What was read belongs to no graph if the claim stands even now; and what others fix is not replaced.
        self.check()
        try:
            self.root.replace(path, data, found.etag)
        except PreconditionFailed:
            if self.root.get_many([path])[0] != data:
                raise self._overtaken_error() from None

    def _overtaken_error(self) -> OmniError:
        uri = self.root.root_uri
        if self.root.exists(layout.STAMP):
            return AlreadyExists(f"another run of this restore has made the graph at {uri}: open it", uri=uri)
        return Contention(
            f"another run of this restore has taken over at {uri}: wait for it, or run this one again",
            uri=uri,
        )


def claim_root(root: ObjectStore, backup: str, graph_id: str, new_id: bool) -> ClaimedRoot:
    """Claim an empty root for a backup of a graph, or take over the restore that has claimed it."""
    mine = RestoreClaim(backup, new_ulid() if new_id else graph_id)
    for _ in range(_MAX_LOST_SWAPS):
        if (found := _read(root)) is None:
            if _create(root, mine):
                return ClaimedRoot(root, mine, goes_on=False)
            continue
        standing, etag = found
        if standing.backup != backup:
            raise root_taken_error(
                root, f"a restore of backup {standing.backup} is unfinished there: go on with it, with its id"
            )
        if new_id != (standing.graph_id != graph_id):
            how = "without" if new_id else "with"
            raise root_taken_error(
                root, f"a restore {how} a new id is unfinished there: go on with it, {how} `new_id`"
            )
        if standing.is_sealed:
            return ClaimedRoot(root, standing, goes_on=True)
        ours = replace(standing, run=mine.run)
        if _swap(root, ours, etag):
            return ClaimedRoot(root, ours, goes_on=True)
    raise Contention(f"other restores to {root.root_uri} begin all the time: try again", uri=root.root_uri)


def standing_claim(root: ObjectStore) -> RestoreClaim | None:
    """Return the claim of a root, None when there is none."""
    found = _read(root)
    return found[0] if found else None


def root_taken_error(root: ObjectStore, why: str) -> AlreadyExists:
    """Return the error for a root that cannot become a graph."""
    return AlreadyExists(
        f"{root.root_uri} cannot take a graph: {why}; choose an empty address", uri=root.root_uri
    )


def _create(root: ObjectStore, claim: RestoreClaim) -> bool:
    """Claim an empty root; False when another run has come first."""
    if next(iter(root.list()), None) is not None:
        if standing_claim(root) is None:
            raise root_taken_error(root, "it is not empty")
        return False
    if put_over(root, CLAIM, claim.encode(), None) is not None:
        return True
    if next(iter(root.list()), None) is None:
        root.create(CLAIM, claim.encode())  # nobody came first: this says what stands in the way
        return True
    return False


def _swap(root: ObjectStore, claim: RestoreClaim, etag: str) -> bool:
    """Replace the claim that has this tag; False when another run has come first."""
    return put_over(root, CLAIM, claim.encode(), etag) is not None


def _read(root: ObjectStore) -> tuple[RestoreClaim, str] | None:
    try:
        found = root.get_versioned(CLAIM)
    except NotFound:
        return None
    return (
        stored_format.decode_value(found.data, CLAIM, f"the claim of {root.root_uri},", RestoreClaim),
        found.etag,
    )
