"""Making a branch: its name says `making` until all that it stands for is checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from omnigraph.base.errors import (
    AlreadyExists,
    Contention,
    HistoricalVersionReclaimed,
    InvalidName,
    OmniError,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_chain_id
from omnigraph.graph.branches.children import note_child
from omnigraph.graph.branches.line import Beginning, Line
from omnigraph.graph.branches.unfinished import await_maker, is_over
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import MAIN, BranchRef, StoredRef
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.publish.fence import is_spared


def create_branch(
    truth: Truth,
    name: str,
    origin: CommitRecord,
    actor: str | None,
    begin: Beginning | None = None,
    before: BranchRef | None = None,
) -> BranchRef:
    """Fork a branch from a commit: no commit, no copy, the same cost whatever the graph's size.

    `begin` puts the commits that the branch is to appear with. They come after the name, which says `making`
    until they stand: so a chain whose name has no object at all has lost it. `before` is the ref of the
    deleted branch that it brings back.
    """
    if name == MAIN:
        raise InvalidName("'main' exists in every graph and cannot be created", name=name)
    standing = await_maker(truth, name)
    if standing is not None and standing.ref is not None and not is_over(truth, standing.ref):
        raise AlreadyExists(f"branch {name!r} exists already", branch=name)
    if before is not None and goes_on_in(standing, before.incarnation):
        raise AlreadyExists(f"branch {name!r} was made already, and is gone again", branch=name)
    beginning = begin or Beginning(new_chain_id())
    note_child(truth, origin.incarnation, beginning.incarnation, name)
    hit(Failpoint.BRANCH_CREATE_BEFORE_REF)
    making = truth.refs.create(name, origin.ref, actor, standing, beginning.incarnation, before)
    with _free_if_not_made(truth, making):
        line = beginning.put()
    hit(Failpoint.BRANCH_CREATE_BEFORE_CHECK)
    with _free_if_not_made(truth, making):
        check_origin(truth, name, origin)
        check_line(truth, name, line)
    ref = _finish(truth, making, line)
    hit(Failpoint.BRANCH_CREATE_AFTER_REF)
    return ref


def goes_on_in(stored: StoredRef | None, chain: str) -> bool:
    """Return whether what has a name, or had it last, is what the branch of a chain was brought back as."""
    last = stored.last_branch if stored is not None else None
    return last is not None and chain in last.predecessors


@contextmanager
def _free_if_not_made(truth: Truth, making: StoredRef) -> Iterator[None]:
    """Free a name when what it stands for cannot be made."""
    try:
        yield
    except OmniError:
        with suppress(OmniError):  # it is not a branch, and whoever wants the name takes it
            truth.refs.free(making)
        raise


def _finish(truth: Truth, making: StoredRef, line: Line) -> BranchRef:
    """Make a branch of a checked name; it stands also if it was rebased or deleted before we heard of it."""
    ref = making.ref
    assert ref is not None
    try:
        return truth.refs.finish(making)
    except AlreadyExists:
        stored = truth.refs.read(ref.name)
        last = stored.last_branch if stored is not None else None
        if last is not None and ref.incarnation in (last.incarnation, *last.predecessors):
            return ref
        if line.records and _goes_on(truth, line):
            return ref
        if stored is None or stored.ref is None:
            message = f"branch {ref.name!r} was not made: a cleanup took its name back meanwhile, try again"
            raise Contention(message, branch=ref.name) from None
        raise


def _goes_on(truth: Truth, line: Line) -> bool:
    """Return whether a chain was a branch's: it has, or had, more than its first commits."""
    last = line.records[-1]
    if truth.chains.record(last.incarnation, last.seq + 1) is not None:
        return True
    removed = truth.condemned.find_removed(line.staged_behind)
    if removed is None:
        raise truth.unknown(last.commit, last.branch)
    return layout.record_path(last.incarnation, last.seq + 1) in removed


def refuse_isolated(truth: Truth, origin: CommitRecord) -> None:
    """Refuse to begin from a commit that cleanups have kept for merges alone.

    What a merge into such a branch would have to start from may be gone, and it would start further back.
    """
    floor = truth.chains.floor(origin.incarnation)
    if floor is not None and floor.is_start(origin.seq):
        raise HistoricalVersionReclaimed(
            f"no branch can begin from commit {origin.commit}: cleanups have dropped the commits around it "
            "and kept it for merges only (tag a commit before a cleanup to begin from it later)",
            commit=origin.commit,
        )


def check_origin(truth: Truth, name: str, origin: CommitRecord) -> None:
    """Refuse a branch whose origin is being dropped, or whose parent is being deleted.

    Cleanup proposes its floors, and a delete marks its branch, before they look for names. Floor and mark
    are looked at here after the name stands: one of the two sees the other.
    """
    if not truth.chains.claim_commit(origin.ref, origin.tables, begins=True):
        refuse_isolated(truth, origin)
        if truth.chains.holds(origin.ref):
            raise HistoricalVersionReclaimed(
                f"branch {name!r} was not made: a table of the commit that it was to begin from was dropped "
                "for good since",
                branch=name,
                commit=origin.commit,
            )
        dropped = f"branch {name!r} was not made: a cleanup dropped what it was to begin from, try again"
        raise Contention(dropped, branch=name)
    parent = origin.branch
    stored = truth.refs.read(parent) if parent != MAIN else None
    if stored is None or stored.ref is None or stored.ref.incarnation != origin.incarnation:
        return  # main is never deleted; what a deleted branch had can be begun from as long as it is there
    if stored.ref.deleting and not truth.is_closed(stored.ref):
        raise Contention(
            f"branch {name!r} was not made: {parent!r}, which it was to begin from, is being deleted or "
            f"rebased (if nobody is at it any more, restore {parent!r})",
            branch=name,
            parent=parent,
        )


def check_line(truth: Truth, name: str, line: Line) -> None:
    """Refuse a branch whose commits name what a cleanup may remove; as in `check_origin`."""
    if not line.records:
        return
    tables = [(entry.key, entry.pinned) for record in line.records for entry in record.tables.values()]
    definitions = [address for record in line.records for address in record.definitions]
    newest = truth.condemned.newest()
    held = truth.chains.claim_commit(line.records[-1].ref, line.records[-1].tables)
    if not (held and is_spared(truth, tables, definitions, line.staged_behind, newest)):
        raise Contention(
            f"branch {name!r} was not made: a cleanup came between and may have removed files of its first "
            "commits, try again",
            branch=name,
        )
