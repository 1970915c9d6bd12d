"""What others have left half done to a branch: a branch half made, a delete or a rebase cut off."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from omnigraph.base import clock
from omnigraph.base.errors import Contention
from omnigraph.base.ids import ulid_time_us
from omnigraph.graph.manifest.refs import BranchRef, StoredRef
from omnigraph.graph.manifest.truth import Truth, continue_ref
from omnigraph.graph.publish.chain_ends import RESTORED
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.publish.plan import note_plan
from omnigraph.graph.publish.publisher import publish

_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 2.0


def is_over(truth: Truth, ref: BranchRef) -> bool:
    """Return whether a name can be taken over: its branch has ended, or was never finished."""
    return ref.making or truth.is_closed(ref)


def await_maker(truth: Truth, name: str) -> StoredRef | None:
    """Return what stands under a name, after who is making a branch of it has had the time for it."""
    pause = _FIRST_PAUSE
    while (stored := finish_rebase_and_read_ref(truth, name)) is not None and pause < _LONGEST_PAUSE:
        if stored.ref is None or not stored.ref.making:
            break
        clock.current().sleep(pause)
        pause *= 2
    return stored


def finish_rebase_and_read_ref(truth: Truth, name: str) -> StoredRef | None:
    """Return what stands under a name, after a rebase that was cut off is finished."""
    stored = truth.refs.read(name)
    while stored is not None and stored.ref is not None and stored.ref.deleting:
        closing = truth.closing_record(stored.ref)
        if closing is None or closing.successor is None:
            break
        truth.refs.move(stored, continue_ref(stored.ref, closing))
        stored = truth.refs.read(name)
    return stored


def call_off(truth: Truth, stored: StoredRef, operation: str, actor: str | None) -> bool:
    """Take back the mark that another delete or rebase has left, which may have died; say whether it is off.

    That one has read its branch before it left the mark, and ends the chain only as that state goes on: a
    record that is put now, after the mark was read, stops it, whether it lives or not.
    """
    assert stored.ref is not None
    off = put_call_off(truth, stored.ref, operation, actor, "what would have ended the branch was called off")
    if off:
        truth.refs.unmark(stored.ref, stored.ref.marks)
    return off


def put_call_off(truth: Truth, ref: BranchRef, operation: str, actor: str | None, message: str) -> bool:
    """Put a record onto a chain that nobody steps over who would end it as they have seen it before."""
    state = truth.state_of(ref)
    state = replace(state, head=truth.refresh(state).head)
    plan = note_plan(state, operation, actor, message)
    with suppress(Contention):
        return isinstance(publish(truth, plan, state, retries=0), Published)
    return False


def finish_branches(truth: Truth, grace: float) -> None:
    """Finish deletes and rebases that were cut off once a chain was closed; free names never finished.

    What may still be under way is left alone for the grace period. After that a name that keeps the commits
    of a branch in the making is freed, and the marks of deletes and rebases are taken back; whoever is at it
    still loses by compare-and-swap.
    """
    oldest = clock.current().now_us() - int(grace * 1e6)
    for ref in truth.refs.list():
        stored = finish_rebase_and_read_ref(truth, ref.name)
        if stored is None or stored.ref is None or (stored.ref.making and stored.ref.created_at > oldest):
            continue
        if is_over(truth, stored.ref):
            truth.refs.free(stored)
        elif stored.ref.deleting and all(ulid_time_us(mark) <= oldest for mark in stored.ref.marks):
            call_off(truth, stored, "rebase" if stored.ref.onto is not None else RESTORED, None)
