"""Tags: names for commits, which stay readable for as long as the tag stands.

A tag is put and taken away by compare-and-swap. Because no store deletes conditionally, a deleted tag
stays as a void one, over which its name can be given again.
"""

from __future__ import annotations

import builtins
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from omnigraph.base.errors import (
    AlreadyExists,
    CorruptState,
    FormatTooNew,
    FormatTooOld,
    HistoricalVersionReclaimed,
    NotFound,
    PreconditionFailed,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import json_name
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

WRITE_HOLDS = "__write/"
"""How the names of hidden tags begin that ask cleanups for what a write under way stands on."""


@dataclass(frozen=True, slots=True)
class StoredTag:
    """A tag: its name, the commit that it names, and who made it when."""

    name: str
    ref: CommitRef = field(metadata=json_name("commit"))
    branch: str
    created_at: int
    actor: str | None = None
    void: bool = False
    """Set on a tag that was deleted, or that its maker has taken back: the name is free."""
    mark: str = ""
    """Tells two tags of one name apart, also where a clock stands still."""

    @property
    def made_at(self) -> datetime:
        """When the tag was made."""
        return datetime.fromtimestamp(self.created_at / 1e6, UTC)

    def encode(self) -> bytes:
        """Return the tag as stored."""
        return stored_format.encode_value(self, layout.tag_path(self.name))


class StoredTags:
    """The tags of one graph."""

    def __init__(self, store: ObjectStore, chains: Chains) -> None:
        self._store = store
        self._chains = chains

    def create(self, name: str, record: CommitRecord, created_at: int, actor: str | None) -> StoredTag:
        """Store a tag.

        Cleanup writes its floor before it looks for tags, and the floor is read here after the tag stands:
        one of the two sees the other, so a tag never names a commit that is being dropped.
        """
        tag = StoredTag(name, record.ref, record.branch, created_at, actor, mark=new_ulid())
        etag = self._put(tag)
        hit(Failpoint.TAG_AFTER_CREATE)
        if not self._chains.claim_commit(record.ref, record.tables):
            with suppress(PreconditionFailed):
                self._store.replace(layout.tag_path(name), replace(tag, void=True).encode(), etag)
            raise HistoricalVersionReclaimed(
                f"commit {record.commit} was dropped by a cleanup while it was being tagged",
                commit=record.commit,
                version=record.seq,
            )
        return tag

    def _put(self, tag: StoredTag) -> str:
        """Store a tag under a free name and return what to replace it by."""
        path = layout.tag_path(tag.name)
        standing = self._read(path)
        etag = None
        if standing is None or self._is_void(standing[0]):
            etag = put_over(self._store, path, tag.encode(), standing[1] if standing else None)
        if etag is None:
            raise AlreadyExists(f"tag {tag.name!r} exists already: choose another name", tag=tag.name)
        return etag

    def _is_void(self, tag: StoredTag) -> bool:
        """Return whether a tag was deleted or taken back, or its maker was cut off before it was finished.

        Whoever makes a tag claims its commit after the tag stands, so a tag of a dropped commit was never
        made.
        """
        return tag.void or self._chains.has_dropped(tag.ref)

    def _read(self, path: str) -> tuple[StoredTag, str] | None:
        try:
            found = self._store.get_versioned(path)
        except NotFound:
            return None
        return decode_tag(found.data, path), found.etag

    def read(self, name: str) -> StoredTag | None:
        """Return what stands under a name, also a void tag."""
        found = self._read(layout.tag_path(name))
        return found[0] if found is not None else None

    def find(self, name: str) -> StoredTag | None:
        """Return a tag, or None when there is none of this name."""
        found = self._read(layout.tag_path(name))
        return None if found is None or self._is_void(found[0]) else found[0]

    def list(self) -> list[StoredTag]:
        """Return all tags, sorted by name; one that cannot be read is an error."""
        tags, damaged = self.scan()
        for error in damaged:
            raise error
        return tags

    def scan(self) -> tuple[builtins.list[StoredTag], builtins.list[CorruptState]]:
        """Return all tags that can be read, sorted by name, and why others cannot."""
        paths = [info.path for info in layout.own(self._store.list(layout.TAGS))]
        tags, damaged = [], []
        for path, data in zip(paths, self._store.get_many(paths), strict=True):
            try:
                tag = decode_tag(data, path) if data is not None else None
                tags += [tag] if tag is not None and not self._is_void(tag) else []
            except CorruptState as error:
                damaged.append(error)
        return sorted(tags, key=lambda tag: tag.name), damaged

    def renew(self, name: str) -> bool:
        """Date a tag anew in storage; False when it does not stand any more."""
        path = layout.tag_path(name)
        standing = self._read(path)
        if standing is None or standing[0].void:
            return False
        renewed = replace(standing[0], mark=new_ulid())
        return put_over(self._store, path, renewed.encode(), standing[1]) is not None

    def delete(self, name: str, if_commit: str | None = None) -> None:
        """Remove the tag that stands under a name now, or say that there is none.

        One that cannot be read is put aside: it keeps no commit any more. `if_commit` names the commit that
        it must still stand for.
        """
        path = layout.tag_path(name)
        try:
            standing = self._read(path)
        except (FormatTooNew, FormatTooOld):
            raise
        except CorruptState:
            with suppress(NotFound):
                self._store.move(path, layout.quarantine_of_name(path))
            return
        if standing is None or self._is_void(standing[0]):
            raise no_tag(name)
        if if_commit is not None and standing[0].ref.commit != if_commit:
            raise PreconditionFailed(
                f"tag {name!r} names commit {standing[0].ref.commit}, not {if_commit}: look again",
                tag=name,
                expected=if_commit,
                actual=standing[0].ref.commit,
            )
        with suppress(PreconditionFailed):  # a tag is replaced only when it is void: this one is gone already
            self._store.replace(path, replace(standing[0], void=True).encode(), standing[1])


def no_tag(name: str) -> NotFound:
    """Return the error for a tag that does not exist."""
    return NotFound(f"there is no tag {name!r}", tag=name)


def decode_tag(data: bytes, path: str) -> StoredTag:
    try:
        return stored_format.decode_value(data, path, "tag", StoredTag)
    except (FormatTooNew, FormatTooOld):
        raise
    except CorruptState as error:
        raise CorruptState(f"{error.message}, or {way_out(layout.branch_of(path))}", path=path) from error


def way_out(name: str) -> str:
    """Return what to do about a tag that cannot be read and is in no backup."""
    return (
        f"delete the tag (`omnigraph tag delete {name}`), which puts the file aside; a cleanup may drop the "
        "commit then, unless another name keeps it"
    )
