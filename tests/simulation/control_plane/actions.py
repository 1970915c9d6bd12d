"""Carrying out operations, and what each of them told its caller."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import (
    BranchGone,
    CorruptState,
    HistoricalVersionReclaimed,
    NotFound,
    OmniError,
    OutcomeUnknown,
    Unavailable,
)
from omnigraph.base.ids import chain_of
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from simulation.control_plane import kernel, proposals
from simulation.control_plane.archive import Archive
from simulation.control_plane.kernel import World
from simulation.control_plane.scenario import Op, Part
from simulation.control_plane.scheduler import Actor, Crash
from simulation.control_plane.tables import Append, ApplySchema, Rewrite, tokens_of

_NO_BRANCH = (b'"marks":["', b'"deleted":true', b'"making":true')
_REPEATS = 4
_NAME_IS_GONE = ("NotFound", "BranchGone")
ACKNOWLEDGED, REFUSED, UNKNOWN = "acknowledged", "refused", "unknown"


@dataclass
class Told:
    """What became of one operation, as its caller knows it."""

    op: Op
    token: str
    by: str
    outcome: str = UNKNOWN
    result: Any = None
    error: str = ""


@dataclass
class Journal:
    """What all operations of a history told, and what was wrong while they ran."""

    told: list[Told] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def carry_out(world: World, journal: Journal, op: Op, told: Told | None = None) -> None:
    """Do one operation and note what it tells; one with a key is repeated while its outcome is not known."""
    if told is None:
        told = Told(op, f"tok-{len(journal.told)}", world.scheduler.process.name)
        journal.told.append(told)
    for _ in range(_REPEATS if op.keyed else 1):
        _try(world, journal, op, told)
        if told.outcome != UNKNOWN:
            return


def _try(world: World, journal: Journal, op: Op, told: Told) -> None:
    world.scheduler.note("BEGIN", str(op))
    told.outcome = UNKNOWN
    before = _ref(world, op)
    try:
        told.result = _ACTIONS[op.kind](world, op, f"{told.token} {op.tables}")
        told.outcome = ACKNOWLEDGED
    except OutcomeUnknown as error:
        told.error = repr(error)
        if not any(path.startswith(f"{layout.CONDEMNED}/") for path in world.store.objects):
            journal.wrong.append(f"{told.by}: {op}: there was no cleanup: {error!r}")
    except Unavailable as error:
        told.error = repr(error)
    except OmniError as error:
        told.outcome, told.error = REFUSED, repr(error)
        if (wrong := _is_wrong(world, op, error, before)) is not None:
            journal.wrong.append(f"{told.by}: {op}: {wrong}: {error!r}")
    except Exception as error:
        told.error = repr(error)
        place = "".join(traceback.format_exception(error)[-3:])
        journal.wrong.append(f"{told.by}: {op}: an error without a type: {place}")
    world.scheduler.note("END", f"{op}: {told.outcome} {told.error}")


def live(world: World, journal: Journal, part: Part, actor: Actor) -> None:
    """Live the life of an actor: operations one after the other, after a crash as another process."""
    for op in part.ops:
        told = None
        while True:
            try:
                carry_out(world, journal, op, told)
                if told is not None and told.error.startswith(_NAME_IS_GONE):
                    told.outcome = UNKNOWN  # that says nothing of the first try
            except Crash:
                if not part.respawns or world.scheduler.overrun:
                    return
                world.scheduler.respawn(actor)
                told = next(item for item in reversed(journal.told) if item.op is op)
                if op.keyed and told.outcome == UNKNOWN:
                    continue  # whoever asked for it asks another process, with the same key
            break
    for told in [item for item in journal.told if item.op in part.ops and item.op.repeated]:
        try:
            _ask_again(world, journal, told)
        except Crash:
            return
    actor.process.alive = False  # it has ended


def _ask_again(world: World, journal: Journal, told: Told) -> None:
    """Send a write once more with its key: the answer is the first commit, or the same refusal."""
    if told.outcome != ACKNOWLEDGED:
        return
    first = told.result
    again = Told(told.op, told.token, world.scheduler.process.name)
    _try(world, journal, told.op, again)
    if Archive.of(world.store).has_ended(chain_of(first.commit)):
        return  # a branch that was made again under the name is another one
    if again.outcome == ACKNOWLEDGED and again.result.commit != first.commit:
        journal.wrong.append(f"{told.op} with the same key became {again.result.commit} after {first.commit}")


def _is_wrong(world: World, op: Op, error: OmniError, before: bytes | None) -> str | None:
    """Return why an operation must not have ended like this; None when it may."""
    if isinstance(error, CorruptState):
        return "nothing was damaged"
    is_live = before is not None and not any(flag in before for flag in _NO_BRANCH)
    if not (before == _ref(world, op) and (op.branch == "main" or is_live)):
        return None
    about = error.details.get("branch", op.branch) == op.branch
    if isinstance(error, HistoricalVersionReclaimed):
        if op.kind in ("append", "update", "schema", "optimize", "read"):
            return "the branch stands, and so does what it says"
    elif (
        isinstance(error, NotFound | BranchGone)
        and about
        and op.kind in ("append", "update", "schema", "optimize")
    ):
        return "the branch was there all the time"
    return None


def _ref(world: World, op: Op) -> bytes | None:
    if op.branch == "main":
        return None
    found = world.store.objects.get(layout.ref_path(op.branch))
    return found.data if found else None


def _append(world: World, op: Op, message: str) -> CommitRecord | None:
    work = Append(message.split(maxsplit=1)[0], op.tables)
    return kernel.write(world.opened(), op.branch, work, message, op.durable, _key(op, message))


def _update(world: World, op: Op, message: str) -> CommitRecord | None:
    work = Rewrite(message.split(maxsplit=1)[0], op.tables)
    return kernel.write(world.opened(), op.branch, work, message, op.durable, _key(op, message))


def _key(op: Op, message: str) -> str | None:
    return f"key of {message}" if op.keyed else None


def _optimize(world: World, op: Op, message: str) -> CommitRecord | None:
    return kernel.write(world.opened(), op.branch, Rewrite(None, op.tables), "", False)


def _schema(world: World, op: Op, message: str) -> CommitRecord | None:
    core = world.opened()
    return kernel.write(core, op.branch, ApplySchema(kernel.schema(op.schema), core.schemas), "", True)


def _unused_schema(world: World, op: Op, message: str) -> None:
    """Leave what an apply leaves that fails between its schema and its commit."""
    world.opened().schemas.put(kernel.schema(op.schema))


def _fork(world: World, op: Op, message: str) -> CommitRecord | None:
    work = Append(message.split(maxsplit=1)[0], op.tables)
    return kernel.fork(world.opened(), op.branch, op.other, work, message)


def _merge(world: World, op: Op, message: str) -> Any:
    return kernel.merge(world.opened(), op.other, op.branch, "", op.delete)


def _rebase(world: World, op: Op, message: str) -> Any:
    return kernel.rebase(world.opened(), op.branch, op.other)


def _create(world: World, op: Op, message: str) -> Any:
    return kernel.create(world.opened(), op.branch, op.other, op.back)


def _pick(world: World, op: Op, message: str) -> Any:
    return kernel.pick(world.opened(), op.branch, op.other, op.back)


def _rename(world: World, op: Op, message: str) -> None:
    kernel.rename(world.opened(), op.branch, op.other)


def _restore(world: World, op: Op, message: str) -> Any:
    return kernel.restore(world.opened(), op.branch)


def _delete(world: World, op: Op, message: str) -> None:
    kernel.delete(world.opened(), op.branch)


def _tag(world: World, op: Op, message: str) -> str:
    return kernel.tag(world.opened(), op.other, op.branch, op.back)


def _untag(world: World, op: Op, message: str) -> None:
    world.opened().truth.tags.delete(op.other)


def _cleanup(world: World, op: Op, message: str) -> Any:
    done = kernel.clean_up(world.opened(), op.keep, op.grace)
    return done.errors


def _drop(world: World, op: Op, message: str) -> Any:
    work = Rewrite(message.split(maxsplit=1)[0], op.tables, reclaims=True)
    published = kernel.write(world.opened(), op.branch, work, message, True)
    if published is not None and published.record is not None:
        kernel.reclaim(world.opened(), published.record, op.tables)
    return published


def _recover(world: World, op: Op, message: str) -> int:
    return kernel.recover(world.opened())


def _read(world: World, op: Op, message: str) -> None:
    """Read a branch's head; a commit that is not the head any more may be gone, the head may not."""
    truth = world.opened().truth
    while True:
        state = truth.state(op.branch)
        try:
            tokens_of(state.head.tables, world.store)
            return
        except HistoricalVersionReclaimed:
            if truth.state(op.branch).head.commit == state.head.commit:
                raise


def _wait(world: World, op: Op, message: str) -> None:
    world.scheduler.pass_time(op.seconds)


def _protect(world: World, op: Op, message: str) -> None:
    approvals = None if op.kind == "unprotect" else 1
    proposals.protect(world.opened(), op.branch, approvals, world.scheduler.process.name)


def _propose(world: World, op: Op, message: str) -> str:
    return proposals.propose(world.opened(), op.other, op.branch, world.scheduler.process.name)


def _merge_proposal(world: World, op: Op, message: str) -> Any:
    return proposals.merge(world.opened(), op.other, op.branch, world.scheduler.process.name)


def _close_proposal(world: World, op: Op, message: str) -> str:
    return proposals.close(world.opened(), op.other, op.branch, world.scheduler.process.name)


_ACTIONS = {
    "protect": _protect,
    "unprotect": _protect,
    "propose": _propose,
    "merge_proposal": _merge_proposal,
    "close_proposal": _close_proposal,
    "append": _append,
    "update": _update,
    "optimize": _optimize,
    "schema": _schema,
    "unused_schema": _unused_schema,
    "fork": _fork,
    "merge": _merge,
    "rebase": _rebase,
    "create": _create,
    "pick": _pick,
    "delete": _delete,
    "restore": _restore,
    "rename": _rename,
    "tag": _tag,
    "untag": _untag,
    "cleanup": _cleanup,
    "drop": _drop,
    "recover": _recover,
    "read": _read,
    "wait": _wait,
}
