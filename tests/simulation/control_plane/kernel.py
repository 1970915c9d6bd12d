"""The one place that knows how the kernel is called, and what of it is simulated."""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from typing import Any
from unittest.mock import patch

from omnigraph.base import clock
from omnigraph.base.errors import Contention, Unavailable
from omnigraph.base.ids import new_chain_id, new_ulid
from omnigraph.base.settings import Settings
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.branches.create import create_branch, refuse_isolated
from omnigraph.graph.branches.lifecycle import delete_branch, restore_branch
from omnigraph.graph.branches.rename import rename_branch
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup, CleanupRequest, cleanup
from omnigraph.graph.maintenance.cleanup.retention import Limits
from omnigraph.graph.manifest import layout, lineage
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema
from omnigraph.graph.manifest.stamp import Stamp, read_stamp, write_stamp
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.merge.plan import Options
from omnigraph.graph.merge.rebase import Rebase, rebase_branch
from omnigraph.graph.merge.run import Merge, merge_branch, pick_commit
from omnigraph.graph.opening import Core
from omnigraph.graph.publish.chain_ends import put_genesis
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.recovery import owner
from omnigraph.graph.recovery.owner import Owner
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.write.base_hold import BaseHold
from omnigraph.graph.write.commit import commit
from omnigraph.graph.write.unnamed import commit_to_fork
from omnigraph.graph.write.work import CommitRequest, CommitWork
from simulation.control_plane import proposals, tables
from simulation.control_plane.clocks import SimulatedClock
from simulation.control_plane.scheduler import Pace, Process, Scheduler
from simulation.control_plane.store import SimulatedStore, Stored


@dataclass
class World:
    """Everything that one history happens in."""

    scheduler: Scheduler
    store: SimulatedStore
    rng: random.Random
    settings: Settings
    wrong_liveness: float = 0.0
    turns: float = 0.0
    processes: dict[str, Process] = field(default_factory=dict)
    """By name: every process that ever opened the graph."""

    def opened(self) -> Core:
        """Return the graph as the process that runs has it open; it opens it when it has not."""
        process = self.scheduler.process
        core: Core | None = process.memory.get("core")
        if core is None:
            self.processes[process.name] = process
            core = Core(Truth(self.store, read_stamp(self.store).stamp), self.settings, None)  # type: ignore[arg-type]
            process.memory["core"] = core
        return core


_worlds: list[World] = []


def world() -> World:
    """Return the world of the history that runs."""
    return _worlds[-1]


@contextmanager
def inside(made: World, entropy: random.Random) -> Iterator[World]:
    """Let a history happen: its clock is the one in force."""
    _worlds.append(made)
    before = clock.install(SimulatedClock(made.scheduler, entropy))
    try:
        yield made
    finally:
        clock.install(before)
        _worlds.pop()


class _OneAfterTheOther:
    """An executor that does in a random order what the real one does side by side."""

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def __enter__(self) -> _OneAfterTheOther:
        return self

    def __exit__(self, *error: object) -> None: ...

    def map(self, act: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        given = list(items)
        order = list(range(len(given)))
        world().scheduler.rng.shuffle(order)
        done: dict[int, Any] = {}
        for place in order:
            done[place] = act(given[place])
        return [done[place] for place in range(len(given))]


_ONE_IS_HELD_OF = 3
"""Of so many commits that writes begin from one is held; such a write reads lists before it is prepared."""


@contextmanager
def _turn(store: object, name: str, patience: float) -> Iterator[bool]:
    """Take a turn that means nothing: the lock only says what a writer believes."""
    made = world()
    for look in made.scheduler.process.memory.get("looks", ()):
        look()
    yield made.scheduler.running is not None and made.scheduler.rng.random() < made.turns


@contextmanager
def _keep_held(hold: BaseHold, look: Callable[[], None], at_once: bool) -> Iterator[None]:
    """Hold what a write stands on, or do not, without a thread; lists are read when its turn comes."""
    looks = world().scheduler.process.memory.setdefault("looks", [])
    # Not drawn with the rest, so that histories without a hold are what they were before there were any.
    lot = int.from_bytes(sha256(hold.head.commit.encode()).digest()[:2], "big")
    if lot % _ONE_IS_HELD_OF == 0:
        hold.place()
        looks.append(look)
    try:
        yield
    finally:
        if look in looks:
            looks.remove(look)
        hold.release()


def _this_process() -> Owner:
    process = world().scheduler.process
    return Owner(f"machine of {process.name}", process.number, "0", process.name)


def _is_alive(of: Owner, operation_id: str, created_at: int, lease_seconds: float) -> bool:
    """Say whether a writer lives, and be wrong about it as often as the history wants."""
    made = world()
    if of.process == made.scheduler.process.name:
        return operation_id in owner._in_flight
    process = made.processes.get(of.process)
    truth = process is not None and process.alive
    if made.scheduler.running is not None and made.scheduler.rng.random() < made.wrong_liveness:
        return not truth
    return truth


_PATCHES: dict[str, object] = {
    "omnigraph.storage.files.delete_files.ThreadPoolExecutor": _OneAfterTheOther,
    "omnigraph.graph.write.retry_lost_races.turn": _turn,
    "omnigraph.graph.write.prepare.keep_held": _keep_held,
    "omnigraph.graph.write.own_plan.this_process": _this_process,
    "omnigraph.graph.recovery.settle.is_alive": _is_alive,
    "omnigraph.graph.recovery.settle.restage": tables.restage,
    "omnigraph.graph.maintenance.verify.verify_history.is_alive": _is_alive,
    "omnigraph.graph.maintenance.cleanup.marking.table_files": tables.table_files,
    "omnigraph.graph.publish.fence.table_files": tables.table_files,
    "omnigraph.graph.recovery.settle.table_files": tables.table_files,
    "omnigraph.graph.merge.run.MergeWork": tables.SimulatedMerge,
    "omnigraph.graph.merge.rebase.MergeWork": tables.SimulatedMerge,
    "omnigraph.graph.proposals.merge.ProposalMerge": proposals.SimulatedProposalMerge,
    "omnigraph.graph.proposals.merge.this_process": _this_process,
    "omnigraph.graph.proposals.settle.is_alive": _is_alive,
}


@contextmanager
def simulated() -> Iterator[None]:
    """Put simulated tables, turns, liveness and threads in the place of the real ones."""
    log = logging.getLogger("omnigraph")
    level = log.level
    log.setLevel(logging.CRITICAL)
    patches = [patch(name, new) for name, new in _PATCHES.items()]
    # In Python 3.11 all instances share the lock of a cached property; ours are in other processes.
    patches += [patch.object(item, "lock", nullcontext()) for item in _cached_properties()]
    for item in patches:
        item.start()
    try:
        yield
    finally:
        for item in patches:
            item.stop()
        log.setLevel(level)


def _cached_properties() -> list[Any]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("omnigraph.graph")]
    classes = {
        id(item): item for module in modules for item in vars(module).values() if isinstance(item, type)
    }
    found = [item for kind in classes.values() for item in vars(kind).values()]
    return [item for item in found if isinstance(item, cached_property) and hasattr(item, "lock")]


@cache
def schema(name: str) -> StoredSchema:
    """Return one of the schemas that a graph here goes back and forth between."""
    text = (
        "node P {\n  name: String @key\n}\n"
        if name == "A"
        else "node P {\n  name: String @key\n  x: String?\n}\n"
    )
    return StoredSchema(replace(compile_schema(text), last_id=1_000), text)


@cache
def empty_graph() -> dict[str, Stored]:
    """Return the objects of a graph that was just made."""
    scheduler = Scheduler(random.Random(1), Pace())
    store = SimulatedStore(scheduler)
    with inside(World(scheduler, store, random.Random(2), Settings()), random.Random(3)):
        address = Schemas(store).put(schema("A"))
        stamp = Stamp(graph_id=new_ulid(), main=new_chain_id(), created_at=clock.current().now_us())
        made = {}
        for name, identity in tables.TABLES.items():
            place = tables.location_of(name)
            files = [tables.write_file(store, place, [f"genesis {name}"])]
            made[identity] = tables.written(name, tables.write_version(store, place, files, 1), files)
        put_genesis(Chains(store), stamp.main, address, made)
        write_stamp(store, stamp)
    return store.objects


def write(
    core: Core, branch: str, work: CommitWork, message: str, durable: bool, key: str | None = None
) -> Published | None:
    """Commit work to a branch."""
    actor = world().scheduler.process.name
    request = CommitRequest(branch, actor, message, durable=durable, key=key)
    return commit(core.truth, core.settings, request, work)


def fork(core: Core, branch: str, source: str, work: CommitWork, message: str) -> Published | None:
    """Commit work as the first commit of a new branch."""
    actor = world().scheduler.process.name
    return commit_to_fork(core.truth, core.settings, CommitRequest(branch, actor, message), work, source)


def merge(core: Core, source: str, into: str, message: str, delete: bool) -> Merge:
    """Merge a branch, as `Branches.merge` does."""
    state = core.truth.state(into)
    request = CommitRequest(into, None, message, durable=True, incarnation=state.ref.incarnation)

    def delete_merged(name: str, merged: BranchState) -> None:
        delete_branch(core.truth, name, None, merged)

    return merge_branch(core, source, request, Options(), False, delete_merged if delete else None)


def rebase(core: Core, branch: str, onto: str) -> Rebase:
    """Rebase a branch."""
    return rebase_branch(core, branch, onto, None, Options())


def create(core: Core, branch: str, source: str, back: int = 0) -> BranchRef:
    """Make a branch from the head of another, or from a commit before it, as `Branches.create` does."""
    origin = _step_back(core, source, back) if back else core.truth.state(source).head
    if back:
        refuse_isolated(core.truth, origin)
    return create_branch(core.truth, branch, origin, None)


def pick(core: Core, branch: str, source: str, back: int) -> Merge:
    """Bring the change of a commit of another branch to a branch."""
    request = CommitRequest(branch, durable=True)
    return pick_commit(core, _step_back(core, source, back), request, Options(), False, False)


def restore(core: Core, branch: str) -> BranchRef:
    """Bring a deleted branch back."""
    return restore_branch(core.truth, branch, None)


def rename(core: Core, branch: str, new: str) -> None:
    """Give a branch another name."""
    rename_branch(core.truth, branch, new, None)


def delete(core: Core, branch: str) -> None:
    """Delete a branch."""
    delete_branch(core.truth, branch, None)


def tag(core: Core, name: str, branch: str, back: int) -> str:
    """Tag a commit of a branch and return its id."""
    chosen = _step_back(core, branch, back)
    return core.truth.tags.create(name, chosen, clock.current().now_us(), None).ref.commit


def _step_back(core: Core, branch: str, back: int) -> CommitRecord:
    """Return the commit so many steps before the head of a branch, or the first one."""
    chosen = core.truth.state(branch).head
    for step, record in enumerate(lineage.history(core.truth.chains, chosen)):
        chosen = record
        if step == back:
            break
    return chosen


def clean_up(core: Core, keep: int | None, grace: float) -> Cleanup:
    """Run a cleanup."""
    settings = replace(core.settings, cleanup_grace_seconds=grace)
    proposals.finish(core, world().store, world().scheduler.process.name)
    return cleanup(core.truth, settings, CleanupRequest(Limits(keep, idle=False)))


def reclaim(core: Core, record: CommitRecord, names: str) -> None:
    """Drop for good what tables were before a commit, as a schema change does; a failure leaves it soft."""
    dropped = {record.incarnation: dict.fromkeys((tables.TABLES[name] for name in names), record.seq)}
    request = CleanupRequest(Limits(deleted=True), dropped_tables=dropped)
    with suppress(Contention, Unavailable):
        cleanup(core.truth, core.settings, request)


def recover(core: Core) -> int:
    """Settle what crashes have left, as opening a graph does."""
    return settle_abandoned(core.truth, core.settings)


def stored_records(store: SimulatedStore) -> dict[str, bytes]:
    """Return the commit records that are stored, by path."""
    return {path: item.data for path, item in store.objects.items() if path.startswith(f"{layout.CHAINS}/")}


def written_records(store: SimulatedStore) -> list[CommitRecord]:
    """Return every commit record that was ever stored, also those that are gone."""
    return [record_of(path, data) for path, data in store.written if path.startswith(f"{layout.CHAINS}/")]


@lru_cache(maxsize=4_096)
def record_of(path: str, data: bytes) -> CommitRecord:
    """Return a stored record, without decoding it again for every look."""
    return CommitRecord.decode(data, path)
