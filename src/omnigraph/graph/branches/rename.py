"""Renaming a branch: what it had is held, it is deleted, and brought back under the other name.

No store changes two names at once, so between the two neither stands. A hidden tag holds the newest commit
from before the first step until the branch stands again, whatever cleanups run meanwhile. Each rename has a
tag of its own, and lets go of nothing before it knows that the branch stands. The record that ends the
branch's chain says that it was renamed and to what: so whoever comes across a rename that was cut off can
tell it from a delete, and the same rename again goes on (so does `restore` of the old name).

A rename that was cut off before it has ended the chain holds the commit for nothing. A cleanup lets go of it
after it has put a record onto the chain, which comes after what the rename has seen before it held: so one
that was only held up finds it, and begins again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from omnigraph.base import clock
from omnigraph.base.errors import (
    AlreadyExists,
    Contention,
    HistoricalVersionReclaimed,
    InvalidName,
    NotFound,
    OmniError,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.graph.branches.create import create_branch, goes_on_in
from omnigraph.graph.branches.lifecycle import delete_branch
from omnigraph.graph.branches.unfinished import await_maker, put_call_off
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.chain_ends import RESTORED
from omnigraph.graph.publish.conflict import precondition_error
from omnigraph.graph.publish.races import MAX_RESTARTS

RENAMES = "__rename/"
"""How the names of the hidden tags begin."""
_RENAMED_TO = "renamed to "
_DIGEST_LETTERS = 32


@dataclass(frozen=True, slots=True)
class _Ended:
    """A branch that was deleted to be renamed: its last ref, and the commit that it had."""

    ref: BranchRef
    head: CommitRecord


def rename_branch(truth: Truth, old: str, new: str, actor: str | None, if_commit: str | None = None) -> None:
    """Give a branch another name; the commits, and the idempotency keys that they carry, stay.

    `if_commit` names the commit that must still be its head.
    """
    if MAIN in (old, new):
        raise InvalidName("'main' cannot be renamed, and no other branch can have its name", name=MAIN)
    cut_off = [] if truth.has(old) else _find_holds(truth, old, new)
    if truth.has(new):
        _release_finished(truth, cut_off)
        if any(_is_finished(truth, new, chain_of_hold(tag.name)) for tag in cut_off):
            return
        raise AlreadyExists(f"branch {new!r} exists already", branch=new)
    if cut_off:
        _go_on(truth, old, new, cut_off, actor)
    else:
        _begin(truth, old, new, actor, if_commit)


def chain_of_hold(name: str) -> str:
    """Return the chain of the branch that a hidden tag holds while it is renamed."""
    return name.split("/")[2]


def release_finished(truth: Truth, tags: Sequence[StoredTag], refs: Sequence[BranchRef]) -> None:
    """Remove those among some tags that hold branches which stand again; their renames were cut off then."""
    standing = {chain for ref in refs if not ref.making for chain in ref.predecessors}
    for tag in tags:
        if tag.name.startswith(RENAMES) and chain_of_hold(tag.name) in standing:
            _release(truth, tag.name)


def call_off_renames(
    truth: Truth, tags: Sequence[StoredTag], refs: Sequence[BranchRef], grace: float
) -> bool:
    """Let go of branches that renames have held for longer than a grace period and have not ended.

    Returns whether one was let go of.
    """
    oldest = clock.current().now_us() - int(grace * 1e6)
    standing = {ref.incarnation: ref for ref in refs if not ref.making}
    held = [tag for tag in tags if tag.name.startswith(RENAMES) and tag.created_at <= oldest]
    over = [tag for tag in held if _is_called_off(truth, chain_of_hold(tag.name), standing)]
    for tag in over:
        _release(truth, tag.name)
    return bool(over)


def _is_called_off(truth: Truth, chain: str, standing: Mapping[str, BranchRef]) -> bool:
    """Keep renames from ending a chain that they hold; say whether none has, and none can any more."""
    if chain in standing:
        return put_call_off(
            truth, standing[chain], RESTORED, None, "a rename that did not go on was called off"
        )
    closing = truth.newest_of(chain)
    return closing is not None and closing.closed and not _was_renamed_at_all(closing)


def _release_finished(truth: Truth, tags: Sequence[StoredTag]) -> None:
    if tags:
        release_finished(truth, tags, truth.refs.list())


def _begin(truth: Truth, old: str, new: str, actor: str | None, if_commit: str | None) -> None:
    for _ in range(MAX_RESTARTS):
        state = truth.state(old)
        if if_commit is not None and (error := precondition_error(if_commit, state.head, old)):
            raise error
        hold = f"{_holds_of(old, new)}{state.ref.incarnation}/{new_ulid()}"
        if not _hold(truth, hold, state, actor):
            continue
        hit(Failpoint.BRANCH_RENAME_AFTER_HOLD)
        refused = _delete(truth, old, new, state, actor)
        if refused is None:
            _bring_back(truth, old, new, _Ended(state.ref, state.head), actor)
            _release(truth, hold)
            _release_finished(truth, _find_holds(truth, old, new))
            return
        _release(truth, hold)
        if not isinstance(refused, Contention):
            raise refused
    raise Contention(f"branch {old!r} kept moving while it was renamed: try again", branch=old)


def _hold(truth: Truth, hold: str, state: BranchState, actor: str | None) -> bool:
    """Hold what a branch has; False when a cleanup has dropped it, because it is not the newest any more."""
    try:
        truth.tags.create(hold, state.head, clock.current().now_us(), actor)
    except HistoricalVersionReclaimed:
        _release(truth, hold)
        return False
    return True


def _delete(truth: Truth, old: str, new: str, state: BranchState, actor: str | None) -> OmniError | None:
    """Delete a branch as it is in a state; return why that could not be done.

    Whether it was deleted, and for what, is told by the record that ends its chain, whoever has put it, and
    not by an answer. When that cannot be read the branch stays held.
    """
    refused, ended = None, None
    try:
        ended = delete_branch(truth, old, actor, state, _renamed_to(new))
    except OmniError as error:
        refused = error
    ended = ended or truth.newest_of(state.ref.incarnation)
    if ended is None and refused is None:
        return None  # a cleanup has taken the record already
    if ended is not None and _has_ended_as(ended, new, state.head):
        return None
    return refused or Contention(f"branch {old!r} was ended by another while it was renamed", branch=old)


def _go_on(truth: Truth, old: str, new: str, holds: Sequence[StoredTag], actor: str | None) -> None:
    """Finish a rename that was cut off, unless it never deleted the branch and another has since."""
    for tag in reversed(holds):  # the newest try first: the branch has gone on since older ones
        incarnation = chain_of_hold(tag.name)
        closing, head = truth.newest_of(incarnation), truth.chains.at(tag.ref)
        if closing is not None and not _has_ended_as(closing, new, head):
            _release(truth, tag.name)  # it was not this try that ended the branch
            continue
        stored = truth.refs.read(old)
        last = stored.last_branch if stored is not None else None
        if last is None or last.incarnation != incarnation:
            last = BranchRef(old, incarnation, None)
        _bring_back(truth, old, new, _Ended(last, head), actor)
        _release(truth, tag.name)
        _release_finished(truth, holds)
        return
    raise NotFound(f"there is no branch {old!r}", branch=old)


def _bring_back(truth: Truth, old: str, new: str, ended: _Ended, actor: str | None) -> None:
    """Make the branch under its new name; what stands under the old one by now may be another's."""
    hit(Failpoint.BRANCH_RENAME_AFTER_DELETE)
    try:
        create_branch(truth, new, ended.head, actor, before=ended.ref)
    except AlreadyExists:
        # Another may have finished this very rename, or be about to.
        standing = await_maker(truth, new)
        if standing is not None and standing.ref is not None and standing.ref.making:
            raise Contention(f"branch {new!r} is being made: try again", branch=new) from None
        if _is_finished(truth, new, ended.ref.incarnation):
            return
        _give_back(truth, old, new, ended, actor)
        _release_finished(truth, _find_holds(truth, old, new))
        raise


def _give_back(truth: Truth, old: str, new: str, ended: _Ended, actor: str | None) -> None:
    """Give a branch whose new name was taken its old one back."""
    try:
        create_branch(truth, old, ended.head, actor, before=ended.ref)
    except AlreadyExists:
        raise AlreadyExists(
            f"branches {old!r} and {new!r} exist: others have made them while one was renamed to the other; "
            f"what it had can be given a third name: branches.create(NAME, commit={ended.head.commit!r})",
            branch=new,
            commit=ended.head.commit,
        ) from None


def _is_finished(truth: Truth, name: str, chain: str) -> bool:
    """Return whether a branch of a name is, or was, what another chain was renamed to."""
    return goes_on_in(truth.refs.read(name), chain)


def _renamed_to(new: str) -> str:
    return f"{_RENAMED_TO}{new!r}"


def was_renamed(closing: CommitRecord, new: str) -> bool:
    """Return whether a record has ended a branch because it got another name."""
    return closing.closed and closing.message == _renamed_to(new)


def _has_ended_as(closing: CommitRecord, new: str, head: CommitRecord) -> bool:
    """Return whether a record has ended a branch to rename it, with what a commit says that is held."""
    return was_renamed(closing, new) and closing.content == head.content


def _was_renamed_at_all(closing: CommitRecord) -> bool:
    return closing.closed and (closing.message or "").startswith(_RENAMED_TO)


def _holds_of(old: str, new: str) -> str:
    """Return how the names of the tags of a rename begin: of one length, whatever the two names are."""
    digest = sha256(f"{old}\n{new}".encode()).hexdigest()[:_DIGEST_LETTERS]
    return f"{RENAMES}{digest}/"


def _find_holds(truth: Truth, old: str, new: str) -> list[StoredTag]:
    """Return the tags of renames that were cut off, or that others are at, oldest first."""
    begins = _holds_of(old, new)
    names = [layout.branch_of(info.path) for info in layout.own(truth.store.list(layout.TAGS))]
    found = [truth.tags.find(name) for name in names if name.startswith(begins)]
    return sorted((tag for tag in found if tag is not None), key=lambda tag: tag.name.rsplit("/", 1)[1])


def _release(truth: Truth, hold: str) -> None:
    """Remove a tag; nobody gives one of these names twice, so it can go whatever stands there."""
    truth.store.delete(layout.tag_path(hold))
