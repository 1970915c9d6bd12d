"""Creating and deleting branches."""

from __future__ import annotations

import logging

from omnigraph.base.errors import (
    AlreadyExists,
    BranchInUse,
    Contention,
    InvalidName,
    NotFound,
    OmniError,
    PreconditionFailed,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest.record import CommitRef, Successor
from omnigraph.graph.manifest.refs import MAIN, BranchRef, StoredRef
from omnigraph.graph.manifest.truth import BranchState, Truth, continued
from omnigraph.graph.publish.ends import close_chain, continue_elsewhere
from omnigraph.graph.publish.fence import is_spared
from omnigraph.graph.publish.fit import gone
from omnigraph.graph.publish.plan import Staging
from omnigraph.storage.turn import forget_turn

_log = logging.getLogger("omnigraph")


def create_branch(
    truth: Truth,
    name: str,
    source: BranchState,
    actor: str | None,
    incarnation: str | None = None,
    staging: Staging | None = None,
) -> BranchRef:
    """Fork a branch from a state: no commit, no copy, the same cost whatever the graph's size.

    An incarnation that has a chain already gives the branch that chain's commits with its name; `staging`
    says since when their files have been written.
    """
    if name == MAIN:
        raise InvalidName("'main' exists in every graph and cannot be created", name=name)
    standing = standing_ref(truth, name)
    if standing is not None and standing.ref is not None and not truth.is_closed(standing.ref):
        raise AlreadyExists(f"branch {name!r} exists already", branch=name)
    hit(Failpoint.BRANCH_CREATE_BEFORE_REF)
    ref = truth.refs.create(name, source.head.ref, actor, standing, incarnation)
    hit(Failpoint.BRANCH_CREATE_AFTER_REF)
    if not _is_safe(truth, source, staging):
        _take_back(truth, ref)
        raise Contention(
            f"branch {name!r} was not made: a cleanup dropped what it was to start from, try again",
            branch=name,
        )
    return ref


def _is_safe(truth: Truth, source: BranchState, staging: Staging | None) -> bool:
    """Say whether a branch that has just got its name stands on files that every cleanup will keep.

    Cleanup makes its floors and fences durable before it looks for branches, and they are read here after
    the name stands: one of the two sees the other.
    """
    if not truth.chains.keeps(source.head, source.seen_at.age()):
        return False
    return staging is None or is_spared(staging, truth.state(MAIN).head.fence)


def _take_back(truth: Truth, ref: BranchRef) -> None:
    stored = truth.refs.read(ref.name)
    if stored is not None and stored.ref is not None and stored.ref.incarnation == ref.incarnation:
        truth.refs.free(stored)


def delete_branch(truth: Truth, name: str, actor: str | None) -> None:
    """Delete a branch: its chain is closed, so that a racing writer loses cleanly, then its name is freed."""
    if name == MAIN:
        raise InvalidName("'main' cannot be deleted", name=name)
    stored = standing_ref(truth, name)
    if stored is None or stored.ref is None or truth.is_closed(stored.ref):
        if stored is not None and stored.ref is not None:
            truth.refs.free(stored)  # an earlier delete was cut off after it had closed the chain
        raise NotFound(f"there is no branch {name!r}", branch=name)
    _must_be_childless(truth, stored.ref, "deleted")
    stored = _mark(truth, stored)
    hit(Failpoint.BRANCH_DELETE_BEFORE_CLOSE)
    close_chain(truth, truth.state_of(_ref(stored)), actor)
    hit(Failpoint.BRANCH_DELETE_AFTER_CLOSE)
    forget_turn(truth.store, _ref(stored).incarnation)
    try:
        truth.refs.free(stored)
    except OmniError as error:
        # The closed chain is the truth: the branch is gone, and its name can be taken as it is.
        _log.warning("the name of deleted branch %s could not be freed: %s", name, error)
    hit(Failpoint.BRANCH_DELETE_AFTER_REF)


def replace_branch(
    truth: Truth, state: BranchState, onto: BranchState, incarnation: str, actor: str | None
) -> bool:
    """Let a branch go on in a chain forked from `onto`, atomically; False when either state has passed.

    The record that ends the old chain is the switch: it names the new one, so whoever finds it follows it,
    and the name is put right afterwards by whoever comes first. It cannot be taken back, so the name says
    before it where the branch may go on: a cleanup that looks for names after that keeps the commit, and one
    that has looked before has left its floor, which is read here.
    """
    name, fork = state.ref.name, onto.head.ref
    stored = standing_ref(truth, name)
    if stored is None or stored.ref is None or stored.ref.incarnation != state.ref.incarnation:
        raise gone(name)
    _must_be_childless(truth, stored.ref, "rebased")
    if _ref(_mark(truth, stored, fork)).onto != fork:
        return False
    hit(Failpoint.BRANCH_REBASE_BEFORE_CLOSE)
    if not truth.chains.keeps(onto.head, onto.seen_at.age()):
        return False
    if continue_elsewhere(truth, state, actor, Successor(incarnation, fork)) is None:
        return False
    hit(Failpoint.BRANCH_REBASE_AFTER_CLOSE)
    forget_turn(truth.store, state.ref.incarnation)
    try:
        standing_ref(truth, name)
    except OmniError as error:
        _log.warning("the name of rebased branch %s could not be put right: %s", name, error)
    return True


def standing_ref(truth: Truth, name: str) -> StoredRef | None:
    """Return what stands under a name, after a rebase that was cut off is finished."""
    stored = truth.refs.read(name)
    while stored is not None and stored.ref is not None and stored.ref.deleting:
        newest = truth.chains.newest(stored.ref.incarnation, None, stored.ref.floor, 0.0)
        if newest is None or newest.successor is None:
            break
        truth.refs.move(stored, continued(stored.ref, newest))
        stored = truth.refs.read(name)
    return stored


def _must_be_childless(truth: Truth, ref: BranchRef, word: str) -> None:
    children = [child.name for child in truth.live_refs() if child.fork and _is_on(child, ref)]
    if children:
        raise BranchInUse(
            f"branch {ref.name!r} cannot be {word} while its own forks live: {', '.join(children[:5])}",
            branch=ref.name,
            children=children,
        )


def _is_on(child: BranchRef, parent: BranchRef) -> bool:
    return child.fork is not None and child.fork.incarnation == parent.incarnation


def _mark(truth: Truth, stored: StoredRef, onto: CommitRef | None = None) -> StoredRef:
    try:
        return truth.refs.mark_deleting(stored, onto)
    except PreconditionFailed:
        now = truth.refs.read(_ref(stored).name)
        if now is not None and now.ref is not None and now.ref.incarnation == _ref(stored).incarnation:
            return now  # another delete of the same branch is under way: finish it together
        raise gone(_ref(stored).name) from None


def _ref(stored: StoredRef) -> BranchRef:
    assert stored.ref is not None
    return stored.ref
