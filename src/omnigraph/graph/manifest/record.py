"""A commit record: everything that one graph commit says. Values and their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from omnigraph.base.errors import BadInput, ResourceLimit
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
        raise BadInput(f"{what} is {text!r}: it must be a text, or None") from None
    if size > limit:
        raise ResourceLimit(
            f"{what} has {size} bytes, the limit is {limit}: shorten it, or raise "
            "OMNIGRAPH_COMMIT_TEXT_BYTES",
            resource="commit_text_bytes",
            limit=limit,
            actual=size,
        )
    return text


class CommitClass(StrEnum):
    """Whether a commit changes what the graph says, or only how it is stored."""

    LOGICAL = "logical"
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True)
class CommitRef:
    """A commit and the place of its record."""

    commit: str
    incarnation: str
    seq: int

    def to_json(self) -> list[Any]:
        """Return the ref as plain JSON data."""
        return [self.commit, self.incarnation, self.seq]

    @staticmethod
    def from_json(data: Any) -> CommitRef | None:
        """Build a ref from JSON data."""
        return CommitRef(data[0], data[1], data[2]) if data else None


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One table as a commit pins it."""

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
        return [
            self.key,
            self.location,
            self.pin.version,
            self.pin.path,
            self.rows,
            self.fragments,
            self.changed_by,
            *([dict(self.distinct)] if self.distinct or self.pin.digest else []),
            *([self.pin.digest, self.pin.sums] if self.pin.digest else []),
        ]

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
    """RolledForward, RolledBack or OrphanedBranchDiscarded."""
    operation_id: str
    for_commit: str
    for_actor: str | None
    writer: str
    tables: tuple[tuple[str, int, int], ...]
    """Table key, version before, version after."""

    def to_json(self) -> dict[str, Any]:
        """Return the note as plain JSON data."""
        return {
            "kind": self.kind,
            "operation_id": self.operation_id,
            "for_commit": self.for_commit,
            "for_actor": self.for_actor,
            "writer": self.writer,
            "tables": [list(item) for item in self.tables],
        }

    @staticmethod
    def from_json(data: Any) -> RecoveryNote:
        """Build a note from JSON data."""
        return RecoveryNote(
            data["kind"],
            data["operation_id"],
            data["for_commit"],
            data["for_actor"],
            data["writer"],
            tuple((key, old, new) for key, old, new in data["tables"]),
        )


@dataclass(frozen=True, slots=True)
class Successor:
    """The chain in which a branch goes on, and the commit that this chain begins after."""

    incarnation: str
    fork: CommitRef

    def to_json(self) -> list[Any]:
        """Return the successor as plain JSON data."""
        return [self.incarnation, self.fork.to_json()]

    @staticmethod
    def from_json(data: Any) -> Successor | None:
        """Build a successor from JSON data."""
        fork = CommitRef.from_json(data[1]) if data else None
        return Successor(data[0], fork) if fork else None


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
    commit_class: CommitClass = CommitClass.LOGICAL
    content: str = ""
    """The newest logical commit up to this one: what the graph says is what it said then."""
    actor: str | None = None
    message: str | None = None
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
    parent_digest: str = ""
    """The sum of the parent's record as it is stored."""
    digest: str = field(default="", compare=False)
    """The sum of this record as it is stored; known of records that were read or put."""

    @property
    def ref(self) -> CommitRef:
        """This commit and its place."""
        return CommitRef(self.commit, self.incarnation, self.seq)

    def by_key(self) -> dict[str, TableEntry]:
        """Return the tables by key, sorted."""
        return {entry.key: entry for entry in sorted(self.tables.values(), key=lambda item: item.key)}

    def encode(self) -> bytes:
        """Return the record as stored."""
        content: dict[str, Any] = {
            "commit": self.commit,
            "seq": self.seq,
            "branch": self.branch,
            "incarnation": self.incarnation,
            "parent": self.parent.to_json() if self.parent else None,
            "parent_digest": self.parent_digest,
            "schema": self.schema,
            "created_at": self.created_at,
            "operation": self.operation,
            "class": self.commit_class.value,
            "content": self.content,
            "actor": self.actor,
            "message": self.message,
            "tables": {identity: entry.to_json() for identity, entry in self.tables.items()},
        }
        if self.merged_parent:
            content["merged_parent"] = self.merged_parent.to_json()
        if self.streams:
            content["streams"] = dict(self.streams)
        if self.recovery:
            content["recovery"] = [note.to_json() for note in self.recovery]
        if self.key:
            content["key"] = self.key
        if self.answer:
            content["answer"] = dict(self.answer)
        if self.fence:
            content["fence"] = self.fence
        if self.lag:
            content["lag"] = self.lag
        if self.closed:
            content["closed"] = True
        if self.successor:
            content["successor"] = self.successor.to_json()
        return stored_format.encode(content, layout.record_path(self.incarnation, self.seq))

    @staticmethod
    def decode(data: bytes, path: str) -> CommitRecord:
        """Build a record from its stored form."""
        record = stored_format.decode(data, path, _WHAT, _record)
        return replace(record, digest=stored_format.digest_of(data, path, _WHAT))


def _record(data: Mapping[str, Any]) -> CommitRecord:
    return CommitRecord(
        commit=data["commit"],
        seq=data["seq"],
        branch=data["branch"],
        incarnation=data["incarnation"],
        parent=CommitRef.from_json(data["parent"]),
        schema=data["schema"],
        tables={identity: TableEntry.from_json(entry) for identity, entry in data["tables"].items()},
        created_at=data["created_at"],
        operation=data["operation"],
        commit_class=CommitClass(data["class"]),
        content=data["content"],
        actor=data["actor"],
        message=data["message"],
        merged_parent=CommitRef.from_json(data.get("merged_parent")),
        streams=data.get("streams", {}),
        recovery=tuple(RecoveryNote.from_json(note) for note in data.get("recovery", ())),
        key=data.get("key", ""),
        answer=data.get("answer", {}),
        fence=data.get("fence", 0),
        lag=data.get("lag", 0),
        closed=data.get("closed", False),
        successor=Successor.from_json(data.get("successor")),
        parent_digest=data["parent_digest"],
    )
