"""Branch refs: one small object per branch name, replaced only by compare-and-swap.

A ref names the branch's incarnation and the commit it was forked from. The chain is the truth about
deletion: a branch is gone once its chain is closed. Freeing the name afterwards leaves a tombstone, because
no store deletes conditionally; it still names the chain, so that the branch can be brought back.

A name is put before what it stands for is checked, so that a cleanup sees it; until then it says `making`,
and is not a branch: nobody reads or writes it, so whoever put it can take it back.

Before a branch stands, a note says that its name was used. Refs are never removed, so a note without a ref
tells that the ref is lost, and nobody makes another branch of the name, whose chain would then be nobody's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, CorruptState, FormatTooNew, FormatTooOld, NotFound
from omnigraph.base.ids import new_chain_id
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRef, Successor
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

MAIN = "main"
_MAX_LOST_SWAPS = 8
_MAX_PREDECESSORS = 1024
"""Of a branch that is rebased every ten minutes, a week's."""


@dataclass(frozen=True, slots=True)
class BranchRef:
    """A live branch: its name, its incarnation, and where it was forked (None for main)."""

    name: str
    incarnation: str
    fork: CommitRef | None
    created_at: int = 0
    actor: str | None = None
    marks: tuple[str, ...] = ()
    """Left before the chain is closed, by each who would do so; only who has left one takes it back."""
    onto: Successor | None = None
    """Where the branch may go on when its chain is closed: cleanup keeps that, and the commit before it."""
    deleted: bool = False
    """Set when the name is free: the branch was deleted, or was never finished."""
    making: bool = False
    """Set until what it begins from is checked: it keeps that, but is not a branch yet."""
    buried: BranchRef | None = None
    """While it is made: the deleted branch that had the name, which can be restored if it is not."""
    predecessors: tuple[str, ...] = ()
    """The chains that the branch had before it was rebased or restored, newest first: their keys count."""

    def successor_of(self, before: BranchRef) -> BranchRef:
        """Return this ref as that of a branch that another ref stood for before."""
        return replace(self, predecessors=(before.incarnation, *before.predecessors)[:_MAX_PREDECESSORS])

    @property
    def deleting(self) -> bool:
        """Whether somebody is about to close the chain, or has: a listing looks at such chains."""
        return bool(self.marks)

    @property
    def unmarked(self) -> BranchRef:
        """The ref as it is when nobody is about to close the chain."""
        return replace(self, marks=(), onto=None)

    @property
    def fork_seq(self) -> int:
        """The number before this chain's first record."""
        return self.fork.seq if self.fork else 0

    def encode(self) -> bytes:
        """Return the ref as stored."""
        return stored_format.encode_value(self, layout.ref_path(self.name))


@dataclass(frozen=True, slots=True)
class StoredRef:
    """What stands under a branch name: a ref, or the tombstone of one, and the tag to replace it by."""

    ref: BranchRef | None
    """None when the name is free."""
    etag: str
    tombstone: BranchRef | None = None

    @property
    def last_branch(self) -> BranchRef | None:
        """The branch that had the name last, as its tombstone says it."""
        ref = self.ref or self.tombstone
        return _tombstone(ref) if ref is not None else None


class Refs:
    """The refs of one graph, all branches but main."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def read(self, name: str) -> StoredRef | None:
        """Return what stands under a name, or None when the name was never used."""
        path = layout.ref_path(name)
        try:
            found = self._store.get_versioned(path)
        except NotFound:
            return None
        ref = _decode(found.data, path)
        return StoredRef(None, found.etag, ref) if ref.deleted else StoredRef(ref, found.etag)

    def list(self) -> list[BranchRef]:
        """Return all refs, sorted by name."""
        return [ref for ref in self.list_names() if not ref.deleted]

    def list_names(self) -> Sequence[BranchRef]:
        """Return what stands under every name that was ever used, sorted: refs, and tombstones of them."""
        refs, damaged = self.scan()
        for error in damaged:
            raise error
        return refs

    def scan(self) -> tuple[Sequence[BranchRef], Sequence[CorruptState]]:
        """Return what stands under every name that can be read, sorted, and why others cannot."""
        paths = [info.path for info in layout.own(self._store.list(layout.BRANCHES))]
        refs, damaged = [], []
        for path, data in zip(paths, self._store.get_many(paths), strict=True):
            try:
                refs += [_decode(data, path)] if data is not None else []
            except CorruptState as error:
                damaged.append(error)
        return sorted(refs, key=lambda ref: ref.name), damaged

    def put_back(self, ref: BranchRef) -> None:
        """Put the ref of a branch whose name was lost; raise when something stands under it by now."""
        self._put(ref, None)

    def create(
        self,
        name: str,
        fork: CommitRef,
        actor: str | None,
        over: StoredRef | None,
        incarnation: str | None = None,
        before: BranchRef | None = None,
    ) -> StoredRef:
        """Put the name of a branch that is to be made; `over` is what stands there now and is none.

        `before` is the ref of the deleted branch that it brings back.
        """
        # The note comes after the ref, so a ref that is not there once the note is was lost.
        if over is None and self._is_noted(name) and self.read(name) is None:
            raise lost_ref_error(name)
        ref = BranchRef(
            name,
            incarnation or new_chain_id(),
            fork,
            clock.current().now_us(),
            actor,
            making=True,
            buried=over.last_branch if over else None,
        )
        ref = ref.successor_of(before) if before is not None else ref
        return self._put(ref, over)

    def finish(self, stored: StoredRef) -> BranchRef:
        """Make a branch of a name, now that it is checked; raise when somebody else has taken it."""
        assert stored.ref is not None
        finished = replace(stored.ref, making=False, buried=None)
        with suppress(AlreadyExists):
            self._store.create(layout.name_path(finished.name), encode_name(finished.name))
        self._put(finished, stored)
        return finished

    def _is_noted(self, name: str) -> bool:
        try:
            self._store.get(layout.name_path(name))
        except NotFound:
            return False
        return True

    def names_without_ref(self) -> Sequence[str]:
        """Return the names that were used and have lost their refs, sorted."""
        # A ref is put before its note: listed in the other order none is missing that is there.
        names = [layout.branch_of(info.path) for info in layout.own(self._store.list(layout.NAMES))]
        refs = {layout.branch_of(info.path) for info in layout.own(self._store.list(layout.BRANCHES))}
        return sorted(set(names) - refs)

    def forget_name(self, name: str) -> None:
        """Let a name whose ref is lost be one that was never used."""
        self._store.delete(layout.name_path(name))

    def _put(self, ref: BranchRef, over: StoredRef | None) -> StoredRef:
        etag = put_over(self._store, layout.ref_path(ref.name), ref.encode(), over.etag if over else None)
        if etag is None:
            raise AlreadyExists(f"branch {ref.name!r} exists already", branch=ref.name)
        return StoredRef(ref, etag)

    def mark_deleting(self, stored: StoredRef, mark: str, onto: Successor | None = None) -> StoredRef:
        """Note that a branch is about to be closed, and where it is to go on, if anywhere."""
        assert stored.ref is not None
        return self._put(replace(stored.ref, marks=(*stored.ref.marks, mark), onto=onto), stored)

    def unmark(self, ref: BranchRef, marks: Collection[str]) -> None:
        """Take marks back, whoever else has left one since."""
        for _ in range(_MAX_LOST_SWAPS):
            stored = self.read(ref.name)
            now = stored.ref if stored is not None else None
            if stored is None or now is None or now.incarnation != ref.incarnation:
                return
            left = tuple(mark for mark in now.marks if mark not in marks)
            if left == now.marks:
                return
            if self.move(stored, replace(now, marks=left) if left else now.unmarked):
                return

    def move(self, stored: StoredRef, ref: BranchRef) -> bool:
        """Let a name stand for where its branch goes on; False when somebody has changed it since."""
        return put_over(self._store, layout.ref_path(ref.name), ref.encode(), stored.etag) is not None

    def free(self, stored: StoredRef) -> bool:
        """Free the name of a branch that is closed or was not made; False when somebody has changed it."""
        assert stored.ref is not None
        return self.move(stored, stored.last_branch or replace(stored.ref, deleted=True))


def _tombstone(ref: BranchRef) -> BranchRef | None:
    """Return the tombstone of a branch, or of the one before it when it was never made."""
    if ref.making:
        return ref.buried
    return replace(ref.unmarked, deleted=True)


def _decode(data: bytes, path: str) -> BranchRef:
    try:
        return stored_format.decode_value(data, path, "branch ref", BranchRef)
    except (FormatTooNew, FormatTooOld):
        raise
    except CorruptState as error:
        raise CorruptState(
            f"{error.message}, or run `omnigraph repair --confirm`, which makes it again from the commits of "
            "the branch, or puts it aside when there are none",
            path=path,
        ) from error


def encode_name(name: str) -> bytes:
    """Return the note that a branch of this name was made once, as stored."""
    return stored_format.encode({"name": name}, layout.name_path(name))


def lost_ref_error(name: str) -> CorruptState:
    """Return the error for a name that was used, under which nothing stands any more."""
    path = layout.ref_path(name)
    return CorruptState(
        f"the ref of branch {name!r} is lost: put {path} back from a backup, or let `omnigraph repair "
        "--confirm` bring the branch back from its commits (it frees the name of one that has none)",
        path=path,
        branch=name,
    )
