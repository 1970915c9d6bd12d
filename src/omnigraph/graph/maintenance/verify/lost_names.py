"""Putting names of branches right that are lost or damaged: made again from commits, or put aside."""

from __future__ import annotations

from contextlib import suppress

from omnigraph.base.errors import AlreadyExists, CorruptState, NotFound
from omnigraph.graph.branches.children import note_child
from omnigraph.graph.maintenance.verify.verify_names import LostName
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import Truth


def put_right(truth: Truth, lost: LostName) -> bool:
    """Bring a branch back under its name, or put a name aside that stands for no commits; say whether it is.

    Its chain is as it was, so the branch has all its commits. A maker that is still at it finds its own chain
    under the name.
    """
    try:
        ref = _read_ref_from_records(truth, lost.newest) if lost.newest is not None else None
    except CorruptState:
        return False  # which is among the findings
    if lost.is_damaged and not _put_aside(truth, lost.name):
        return False
    if ref is None:
        truth.refs.forget_name(lost.name)
    else:
        if ref.fork is not None:
            note_child(truth, ref.fork.incarnation, ref.incarnation, ref.name)
        try:
            truth.refs.put_back(ref)
        except AlreadyExists:
            return False
    return True


def _read_ref_from_records(truth: Truth, newest: CommitRecord) -> BranchRef:
    fork = Ancestry(truth.chains).fork_of(newest)
    return BranchRef(newest.branch, newest.incarnation, fork, newest.created_at, newest.actor)


def _put_aside(truth: Truth, name: str) -> bool:
    """Put a name aside that cannot be read; False when it can by now."""
    path = layout.ref_path(name)
    try:
        truth.refs.read(name)
    except CorruptState:
        with suppress(NotFound):
            truth.store.move(path, layout.quarantine_of_name(path))
        return True
    return False
