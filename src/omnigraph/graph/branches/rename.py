"""Renaming a branch: what it had is held, it is deleted, and brought back under the other name.

No store changes two names at once, so between the two neither stands. A hidden tag holds the newest commit
from before the first step until after the last, whatever cleanups run meanwhile: a rename that is cut off
loses nothing, and the same rename again goes on from the tag (so does `restore` of the old name).
"""

from __future__ import annotations

from contextlib import suppress

from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, Contention, InvalidName, NotFound, OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.branches.lifecycle import create_branch, delete_branch, restore_branch
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.manifest.truth import BranchState, Truth

RENAMES = "__rename/"
"""How the names of the hidden tags begin."""
_MAX_LOST_RACES = 8


def rename_branch(truth: Truth, old: str, new: str, actor: str | None) -> None:
    """Give a branch another name; the commits, and the idempotency keys that they carry, stay."""
    if MAIN in (old, new):
        raise InvalidName("'main' cannot be renamed, and no other branch can have its name", name=MAIN)
    if truth.has(new):
        raise AlreadyExists(f"branch {new!r} exists already", branch=new)
    hold = f"{RENAMES}{old}/{new}"
    held = truth.tags.find(hold)
    if held is not None and not truth.has(old):
        _go_on(truth, old, new, held, actor)
    else:
        state = _hold_and_delete(truth, old, hold, actor)
        _bring_back(truth, old, new, state.head, state.ref, actor)
    _release(truth, hold)


def _go_on(truth: Truth, old: str, new: str, held: StoredTag, actor: str | None) -> None:
    """Finish a rename that was cut off, unless it never deleted the branch and another has since."""
    head, stored = truth.chains.at(held.ref), truth.refs.read(old)
    ended = stored.last_branch if stored is not None else None
    closing = truth.closing_record(ended) if ended is not None else None
    if closing is not None and closing.content != head.content:
        _release(truth, held.name)
        raise NotFound(f"there is no branch {old!r}", branch=old)
    _bring_back(truth, old, new, head, ended, actor)


def _hold_and_delete(truth: Truth, old: str, hold: str, actor: str | None) -> BranchState:
    """Delete a branch of which a tag holds all that it had; return that state."""
    for _ in range(_MAX_LOST_RACES):
        _release(truth, hold)
        state = truth.state(old)
        truth.tags.create(hold, state.head, clock.current().now_us(), actor)
        hit(Failpoint.BRANCH_RENAME_AFTER_HOLD)
        try:
            delete_branch(truth, old, actor, state)
            return state
        except Contention:
            continue  # somebody has written to it since
        except OmniError:
            _release(truth, hold)
            raise
    _release(truth, hold)
    raise Contention(f"branch {old!r} kept moving while it was renamed: try again", branch=old)


def _bring_back(
    truth: Truth, old: str, new: str, head: CommitRecord, ended: BranchRef | None, actor: str | None
) -> None:
    """Make the branch under its new name; what stands under the old one by now may be another's."""
    hit(Failpoint.BRANCH_RENAME_AFTER_DELETE)
    try:
        create_branch(truth, new, head, actor, before=ended)
    except AlreadyExists:
        restore_branch(truth, old, actor)  # somebody has taken the name meanwhile
        raise


def _release(truth: Truth, hold: str) -> None:
    with suppress(NotFound):
        truth.tags.delete(hold)
