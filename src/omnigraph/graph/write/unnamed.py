"""Commits in a chain that no branch has yet: nobody sees them, so nobody can race them.

Naming the chain is what makes them visible; until then a crash leaves files that nothing references, and no
plan needs to be durable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from omnigraph.base.errors import HistoricalVersionReclaimed
from omnigraph.base.ids import new_chain_id, new_ulid
from omnigraph.base.settings import Settings
from omnigraph.graph.branches.create import create_branch
from omnigraph.graph.branches.line import Beginning, Line
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.chain_ends import put_first
from omnigraph.graph.publish.conflict import branch_gone_error
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.publish.plan import next_record, note_plan
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.write.integrity.blob_sources import allow_sources
from omnigraph.graph.write.prepare import Preparation, claim_request, newest_cleanup
from omnigraph.graph.write.work import CommitRequest, CommitWork


def commit_to_fork(
    truth: Truth, settings: Settings, request: CommitRequest, work: CommitWork, source: str
) -> Published | None:
    """Carry out work as the first commit of a new branch, which appears with it, or not at all.

    Raises AlreadyExists when somebody has made the branch meanwhile.
    """
    settle_abandoned(truth, settings)
    origin = truth.state(source)
    ref = BranchRef(request.branch, new_chain_id(), origin.head.ref)
    claim = claim_request(truth, request, ref.incarnation, work)
    origin_of_new = replace(origin, ref=ref)
    request = replace(request, staged_behind=newest_cleanup(truth, origin_of_new))
    write = Preparation(truth, settings, request, work, origin_of_new, claim)
    with write.hold_base(), allow_sources(request.blob_sources):
        return _begin_fork(truth, request, write, origin, ref, source)


def _begin_fork(
    truth: Truth,
    request: CommitRequest,
    write: Preparation,
    origin: BranchState,
    ref: BranchRef,
    source: str,
) -> Published | None:
    with _tell_if_swept(write, origin):
        write.stage()
    # Staging may have taken long: what it began from may be history by now, and subject to cleanup.
    origin = truth.refresh(origin)
    if origin.head.closed:
        raise branch_gone_error(source)
    write.move_to(replace(origin, ref=replace(ref, fork=origin.head.ref)))
    with _tell_if_swept(write, origin):
        plan = write.prepare(new_ulid())
    records: list[CommitRecord] = []

    def begin() -> Line:
        if plan.changes_something:
            records.append(put_first(truth.chains, plan, write.state))
        return Line(ref.incarnation, tuple(records), write.staged_behind)

    first = Beginning(ref.incarnation, begin)
    create_branch(truth, request.branch, write.state.head, request.actor, first)
    return Published.as_stored(records[0]) if records else None


@contextmanager
def _tell_if_swept(write: Preparation, origin: BranchState) -> Iterator[None]:
    """Tell that a cleanup took what a write began from, when that is why a version is gone."""
    try:
        yield
    except HistoricalVersionReclaimed as error:
        write.raise_if_swept(error, origin)
        raise


def commit_in_line(
    truth: Truth,
    settings: Settings,
    steps: Iterable[tuple[CommitRequest, CommitWork]],
    state: BranchState,
    streams: Mapping[str, int],
    put: bool = True,
) -> Line:
    """Carry out works as commits that follow each other, and note batches of streams that they do not have.

    Whoever names the chain must see to it that no cleanup has come between. Without `put` no commit is
    stored, only what the next one reads.
    """
    behind, made = newest_cleanup(truth, state), []
    for request, work in steps:
        write = Preparation(truth, settings, request, work, state)
        work.stage(write.base)
        plan = write.prepare(new_ulid())
        if plan.changes_something:
            made.append(put_first(truth.chains, plan, state) if put else next_record(plan, state))
            state = replace(state, head=made[-1])
    landed = {app: batch for app, batch in streams.items() if state.head.streams.get(app, -1) < batch}
    if landed and put:
        note = note_plan(state, "rebase", None, "batches that had landed before", streams=landed)
        made.append(put_first(truth.chains, note, state))
    return Line(state.ref.incarnation, tuple(made), behind)
