"""A commit record: everything that one graph commit says. Values and their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from omnigraph.base.errors import BadInput, ResourceLimit
from omnigraph.base.plain import NOT_STORED, json_name, listed
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.storage.namespace import Pin, PinnedTable

_WHAT = "commit record"


def storable(what: str, text: str | None, limit: int) -> str | None:
    """Return an actor or a message as it is, or refuse what a record cannot hold."""
    if text is None:
        return None
    try:
        size = len(text.encode())
    except (AttributeError, UnicodeEncodeError):
        raise BadInput(f"{what} is {text!r}: it must be a string, or None") from None
    if size > limit:
        raise ResourceLimit(
            f"{what} has {size} bytes, the limit is {limit}: shorten it, or raise "
            "OMNIGRAPH_COMMIT_TEXT_BYTES",
            resource="commit_text_bytes",
            limit=limit,
            actual=size,
        )
    return text


def storable_metadata(given: Mapping[str, str] | None, limit: int) -> Mapping[str, str]:
    """Return metadata of a commit as it is, or refuse what a record cannot hold."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(
        isinstance(item, str) for pair in given.items() for item in pair
    ):
        raise BadInput(f"metadata is {given!r}: it must be a dict of strings, or None")
    for name, value in given.items():
        storable("a name in metadata", name, limit)
        storable(f"metadata {name!r}", value, limit)
    size = sum(len(name.encode()) + len(value.encode()) for name, value in given.items())
    if size > limit:
        raise ResourceLimit(
            f"metadata has {size} bytes, the limit is {limit}: shorten it, or raise "
            "OMNIGRAPH_COMMIT_TEXT_BYTES",
            resource="commit_text_bytes",
            limit=limit,
            actual=size,
        )
    return dict(given)


class CommitClass(StrEnum):
    """Whether a commit changes what the graph says, or only how it is stored."""

    LOGICAL = "logical"
    MAINTENANCE = "maintenance"


@listed
@dataclass(frozen=True, slots=True)
class CommitRef:
    """A commit and the place of its record."""

    commit: str
    incarnation: str
    seq: int


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One table as a commit pins it.

    Its JSON form is its own, as short as can be: every record holds one for each table.
    """

    key: str
    location: str
    pin: Pin
    rows: int
    fragments: int
    changed_by: str
    """The last commit that changed the rows. Maintenance keeps it, so equal values mean equal content."""
    distinct: Mapping[str, int] = field(default_factory=dict)
    """How many values columns were thought to have when the table was last optimized: a hint."""

    @property
    def pinned(self) -> PinnedTable:
        """The table as storage wants it."""
        return PinnedTable(self.location, self.pin)

    def to_json(self) -> list[Any]:
        """Return the entry as plain JSON data."""
        data = [
            self.key,
            self.location,
            self.pin.version,
            self.pin.path,
            self.rows,
            self.fragments,
            self.changed_by,
        ]
        rest = [dict(self.distinct), self.pin.digest, self.pin.sums]
        return [*data, *rest] if any(rest) else data

    @staticmethod
    def from_json(data: Any) -> TableEntry:
        """Build an entry from JSON data."""
        key, location, version, path, rows, fragments, changed_by, *rest = data
        pin = Pin(version, path, *rest[1:])
        return TableEntry(key, location, pin, rows, fragments, changed_by, *rest[:1])


@dataclass(frozen=True, slots=True)
class RecoveryNote:
    """What recovery did about one durable plan; each plan gets at most one."""

    kind: str
    """RolledForward, RolledBack, OrphanedBranchDiscarded or GivenUp."""
    operation_id: str
    for_commit: str
    for_actor: str | None
    writer: str
    tables: tuple[tuple[str, int, int], ...]
    """Table key, version before, version after."""


@listed
@dataclass(frozen=True, slots=True)
class Successor:
    """The chain in which a branch goes on, and the commit that this chain begins after."""

    incarnation: str
    fork: CommitRef


@dataclass(frozen=True, slots=True)
class Protection:
    """What the proposals into a branch need to be merged; nothing else may change what such a branch says."""

    approvals: int = 1
    checks: tuple[str, ...] = ()
    """The names of stored queries that must return no rows on the merged result."""


@dataclass(frozen=True)
class CommitRecord:
    """One graph commit, complete: a snapshot needs nothing else."""

    commit: str
    seq: int
    branch: str
    incarnation: str
    parent: CommitRef | None
    schema: str
    """Content address of the schema."""
    tables: Mapping[str, TableEntry]
    """By table identity."""
    created_at: int
    """Microseconds; never smaller than the parent's, nor than the moment in the commit's id."""
    operation: str
    commit_class: CommitClass = field(default=CommitClass.LOGICAL, metadata=json_name("class"))
    content: str = ""
    """The newest logical commit up to this one: what the graph says is what it said then."""
    actor: str | None = None
    message: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What its writer has noted beside the message."""
    merged_parent: CommitRef | None = None
    streams: Mapping[str, int] = field(default_factory=dict)
    """Streaming application to the last batch that landed."""
    recovery: tuple[RecoveryNote, ...] = ()
    key: str = ""
    """The name of the claim of its idempotency key, when its caller gave one."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the caller was told, when it gave an idempotency key: told again to who sends the key again."""
    fence: int = 0
    """The number of the newest cleanup that this chain has heard of; carried from record to record."""
    closed: bool = False
    """True on the record that ends a chain: of a deleted branch, or of one that goes on elsewhere."""
    successor: Successor | None = None
    """Where the branch goes on, on the record that ends the chain of a rebased one."""
    lag: int = 0
    """The longest time, in microseconds, from a commit's id to its record in this chain so far."""
    protection: Protection | None = None
    """Of the branch, when it has one; carried from record to record of one chain."""
    parent_digest: str = ""
    """The sum of the parent's record as it is stored."""
    queries: str = ""
    """Content address of the stored queries; empty when there are none."""
    reclaims: tuple[str, ...] = ()
    """The tables of which this commit has dropped all that earlier ones have for good: what is left of that
    goes with a cleanup."""
    digest: str = field(default="", compare=False, metadata=NOT_STORED)
    """The sum of this record as it is stored; known of records that were read or put."""

    @property
    def definitions(self) -> tuple[str, ...]:
        """The addresses of what the commit needs beside tables: its schema, and its stored queries."""
        return (self.schema, self.queries) if self.queries else (self.schema,)

    @property
    def ref(self) -> CommitRef:
        """This commit and its place."""
        return CommitRef(self.commit, self.incarnation, self.seq)

    def protects(self, incarnation: str) -> Protection | None:
        """Return the protection that a branch has with this head: one that was inherited is another's."""
        return self.protection if self.incarnation == incarnation else None

    def by_key(self) -> dict[str, TableEntry]:
        """Return the tables by key, sorted."""
        return {entry.key: entry for entry in sorted(self.tables.values(), key=lambda item: item.key)}

    def encode(self) -> bytes:
        """Return the record as stored."""
        return stored_format.encode_value(self, layout.record_path(self.incarnation, self.seq))

    @staticmethod
    def decode(data: bytes, path: str) -> CommitRecord:
        """Build a record from its stored form."""
        record = stored_format.decode_value(data, path, _WHAT, CommitRecord)
        return replace(record, digest=stored_format.digest_of(data, path, _WHAT))
