"""Deleting, restoring and replacing branches; `create` makes them."""

from __future__ import annotations

import logging
from contextlib import suppress

from omnigraph.base.errors import (
    AlreadyExists,
    BranchInUse,
    Contention,
    HistoricalVersionReclaimed,
    InvalidName,
    NotFound,
    OmniError,
    OutcomeUnknown,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.graph.branches.children import children_of, note_child
from omnigraph.graph.branches.create import check_line, check_origin, create_branch, refuse_isolated
from omnigraph.graph.branches.line import Line
from omnigraph.graph.branches.protection import endable_state
from omnigraph.graph.branches.unfinished import call_off, finish_rebase_and_read_ref, is_over
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord, Successor
from omnigraph.graph.manifest.refs import MAIN, BranchRef, StoredRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.chain_ends import RESTORED, close_chain, continue_elsewhere
from omnigraph.graph.publish.conflict import branch_gone_error, precondition_error
from omnigraph.graph.publish.races import MAX_RESTARTS
from omnigraph.storage.writer_lock import forget_turn

_log = logging.getLogger("omnigraph")


def delete_branch(
    truth: Truth,
    name: str,
    actor: str | None,
    merged: BranchState | None = None,
    renamed: str | None = None,
) -> CommitRecord | None:
    """Delete a branch: its chain is closed, so that a racing writer loses cleanly, then its name is freed.

    Returns the record that has ended the chain, whoever has put it; None where nothing tells which one it is.

    The state that the chain is closed after is read before the branch is marked. Who calls the delete off
    reads the mark, puts a record onto the chain, and then takes the mark away: the record comes after that
    state, so whoever closes meets it.
    With `merged` it is deleted only as long as it is that branch and has nothing but what it had then.
    With `renamed`, the message of the record that ends it, it is also not deleted when that was called off
    since `merged` was read.
    """
    if name == MAIN:
        raise InvalidName("'main' cannot be deleted", name=name)
    for _ in range(MAX_RESTARTS):
        stored = _finish_delete_and_read_ref(truth, name)
        if stored is None or stored.ref is None:
            raise NotFound(f"there is no branch {name!r}", branch=name)
        if stored.ref.making:
            if truth.refs.free(stored):
                return None
            continue  # its maker has finished it, or another one has taken the name
        state = endable_state(truth, stored.ref, actor)
        if merged is not None and not _is_same(state, merged):
            raise Contention(f"branch {name!r} has changed since it was merged", branch=name)
        if stored.ref.onto is not None:
            # It could still end the chain, and then nothing would name where the branch goes on.
            call_off(truth, stored, "rebase", actor)
            continue
        ref, mark = stored.ref, new_ulid()
        if not _mark(truth, stored, mark):
            continue
        _must_be_childless(truth, ref, mark, "deleted")
        hit(Failpoint.BRANCH_DELETE_BEFORE_CLOSE)
        try:
            since = merged if merged is not None and renamed is not None else state
            closing = _close(truth, since, mark, actor, merged.head.content if merged else None, renamed)
        except OutcomeUnknown:
            if not truth.is_named(ref):
                return None  # its chain was closed, by this one or by another
            continue
        if closing is None or closing.successor is not None:
            continue  # it was restored, or rebased, before it could be deleted: delete what it has become
        hit(Failpoint.BRANCH_DELETE_AFTER_CLOSE)
        forget_turn(truth.store, ref.incarnation)
        try:
            _free(truth, ref)
        except OmniError as error:
            # The closed chain is the truth: the branch is gone, and its name can be taken as it is.
            _log.warning("the name of deleted branch %s could not be freed: %s", name, error)
        hit(Failpoint.BRANCH_DELETE_AFTER_REF)
        return closing
    raise Contention(f"branch {name!r} kept moving while it was deleted: try again", branch=name)


def _finish_delete_and_read_ref(truth: Truth, name: str) -> StoredRef | None:
    """Return what stands under a name, after a delete that was cut off when it had closed the chain."""
    stored = finish_rebase_and_read_ref(truth, name)
    if stored is None or stored.ref is None or not truth.is_closed(stored.ref):
        return stored
    truth.refs.free(stored)
    return None


def _is_same(state: BranchState, merged: BranchState) -> bool:
    chain = merged.ref.incarnation
    return state.ref.incarnation == chain and state.head.content == merged.head.content


def _close(
    truth: Truth, state: BranchState, mark: str, actor: str | None, content: str | None, renamed: str | None
) -> CommitRecord | None:
    """Close the chain of a marked branch; the mark does not stay when others do not let that happen."""
    closing = None
    with suppress(Contention):
        closing = close_chain(truth, state, actor, content, renamed)
    if closing is None:
        truth.refs.unmark(state.ref, {mark})
        if renamed is not None:
            branch = state.ref.name
            raise Contention(f"branch {branch!r} has changed since it was held to be renamed", branch=branch)
    return closing


def _free(truth: Truth, ref: BranchRef) -> None:
    """Free the name of a branch that has ended, whoever has left a mark on it since."""
    for _ in range(MAX_RESTARTS):
        stored = truth.refs.read(ref.name)
        if stored is None or stored.ref is None or stored.ref.incarnation != ref.incarnation:
            return
        truth.refs.free(stored)


def restore_branch(truth: Truth, name: str, actor: str | None, if_commit: str | None = None) -> BranchRef:
    """Bring a deleted branch back, with the commits that it had; possible until a cleanup has taken them.

    A delete that is under way, or was cut off before the branch was gone, is called off. `if_commit` names
    the commit that must have been its last.
    """
    if name == MAIN:
        raise InvalidName("'main' cannot be deleted, so there is nothing to restore", name=name)
    called_off = False
    for _ in range(MAX_RESTARTS):
        stored = finish_rebase_and_read_ref(truth, name)
        if stored is None or stored.ref is None or is_over(truth, stored.ref):
            ended = stored.last_branch if stored is not None else None
            if ended is None:
                raise NotFound(
                    f"there was no branch {name!r}, as far as names tell (`omnigraph repair` finds branches "
                    "whose names are lost)",
                    branch=name,
                )
            origin = _last_commit(truth, ended)
            if if_commit is not None and (error := precondition_error(if_commit, origin, name)):
                raise error
            refuse_isolated(truth, origin)
            return create_branch(truth, name, origin, actor, before=ended)
        if not stored.ref.deleting:
            if called_off:
                return stored.ref
            raise AlreadyExists(
                f"branch {name!r} exists; a deleted one that had this name before can be brought back under "
                "another, from its last commit: branches.create(NAME, commit=ID)",
                branch=name,
            )
        called_off = call_off(truth, stored, RESTORED, actor)
    raise Contention(f"branch {name!r} kept moving while it was restored: try again", branch=name)


def _last_commit(truth: Truth, ref: BranchRef) -> CommitRecord:
    """Return the last commit of a deleted branch, or an earlier one with the same content, if it is left."""
    closing = truth.closing_record(ref)
    # Fences of cleanups may have come after what the branch had last, and may be dropped without it.
    if closing is None or closing.parent is None:
        left = truth.newest_of(ref.incarnation)
    else:
        left = Ancestry(truth.chains).at(closing.parent)
        if left is not None and left.content == closing.content:
            return left
    if left is not None and left.incarnation == ref.incarnation:
        raise HistoricalVersionReclaimed(
            f"branch {ref.name!r} cannot be restored: a cleanup has removed its last commits. Up to version "
            f"{left.seq} it can be begun again: `omnigraph branch create {ref.name} --commit {left.commit}`",
            branch=ref.name,
            commit=left.commit,
        )
    raise HistoricalVersionReclaimed(
        f"branch {ref.name!r} cannot be restored: a cleanup has removed its commits", branch=ref.name
    )


def replace_branch(
    truth: Truth, state: BranchState, onto: BranchState, line: Line, actor: str | None
) -> bool:
    """Let a branch go on in a chain forked from `onto`, atomically; False when either state has passed.

    The record that ends the old chain is the switch: it names the new one, so whoever finds it follows it,
    and the name is put right afterwards by whoever comes first. It cannot be taken back, so the name says
    before it where the branch may go on: a cleanup that looks for names after that keeps the new chain, and
    one that has looked before has left its floor and its list, which are read here.
    """
    name, successor = state.ref.name, Successor(line.incarnation, onto.head.ref)
    stored = finish_rebase_and_read_ref(truth, name)
    if stored is None or stored.ref is None or stored.ref.incarnation != state.ref.incarnation:
        raise branch_gone_error(name)
    if stored.ref.deleting:
        if stored.ref.onto is None:
            raise Contention(
                f"branch {name!r} is being deleted (if nobody is at it any more, restore it)", branch=name
            )
        call_off(truth, stored, "rebase", actor)
        return False
    note_child(truth, onto.head.incarnation, line.incarnation, name)
    ref, mark = stored.ref, new_ulid()
    if not _mark(truth, stored, mark, successor):
        return False
    _must_be_childless(truth, ref, mark, "rebased")
    hit(Failpoint.BRANCH_REBASE_BEFORE_CLOSE)
    try:
        check_origin(truth, name, onto.head)
        check_line(truth, name, line)
    except OmniError as error:
        truth.refs.unmark(ref, {mark})
        if isinstance(error, Contention):
            return False
        raise
    if continue_elsewhere(truth, state, actor, successor) is None:
        truth.refs.unmark(ref, {mark})
        return False
    hit(Failpoint.BRANCH_REBASE_AFTER_CLOSE)
    forget_turn(truth.store, state.ref.incarnation)
    try:
        finish_rebase_and_read_ref(truth, name)
    except OmniError as error:
        _log.warning("the name of rebased branch %s could not be put right: %s", name, error)
    return True


def _must_be_childless(truth: Truth, ref: BranchRef, mark: str, word: str) -> None:
    """Refuse to end a branch that others were forked from; whoever forks it after this sees the mark."""
    children = children_of(truth, ref.incarnation)
    if children:
        truth.refs.unmark(ref, {mark})
        raise BranchInUse(
            f"branch {ref.name!r} cannot be {word} while its own forks live: {', '.join(children[:5])}",
            branch=ref.name,
            children=children,
        )


def _mark(truth: Truth, stored: StoredRef, mark: str, onto: Successor | None = None) -> bool:
    """Leave a mark of one's own on a branch; False when something else stands under its name by now."""
    with suppress(AlreadyExists):
        truth.refs.mark_deleting(stored, mark, onto)
        return True
    return False
