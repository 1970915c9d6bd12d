"""Durable publish plans: written when staging is complete, deleted once published."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from omnigraph.base.errors import (
    Contention,
    FormatTooNew,
    NotFound,
    OmniError,
    PreconditionFailed,
    UnreadablePlan,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.recovery.owner import Owner
from omnigraph.storage.objects import ObjectStore

_MAX_LOST_SWAPS = 32
PENDING, TAKEN, WITHDRAWN = "pending", "taken", "withdrawn"


@dataclass(frozen=True, slots=True)
class DurablePlan:
    """A publish plan, who wrote it and when, and how far main had come then."""

    plan: PublishPlan
    owner: Owner
    created_at: int
    main_seq: int
    """A number that main had reached: notes about this plan on main come later."""
    state: str = PENDING
    """Pending; taken by recovery, which then settles it; or withdrawn by its writer, who then does not."""

    @property
    def path(self) -> str:
        """Where the plan lies."""
        return layout.plan_path(self.plan.operation_id)

    def encode(self) -> bytes:
        """Return the plan as stored."""
        return stored_format.encode_value(self, self.path)


def write_plan(store: ObjectStore, durable: DurablePlan) -> None:
    """Make a plan durable; when this fails, nothing may be published."""
    hit(Failpoint.PLAN_BEFORE_PUT)
    store.put(durable.path, durable.encode())
    hit(Failpoint.PLAN_AFTER_PUT)


def take_plan(store: ObjectStore, path: str) -> DurablePlan | None:
    """Take a plan over from its writer; None when it is gone, or its writer has withdrawn it."""
    return _move(store, path, TAKEN)


def withdraw_plan(store: ObjectStore, path: str) -> DurablePlan | None:
    """Withdraw a plan of one's own; what is returned tells whether it was taken before, None that it is gone.

    Who has withdrawn a plan may say that nothing was written: nobody will publish it any more.
    """
    return _move(store, path, WITHDRAWN)


def _move(store: ObjectStore, path: str, wanted: str) -> DurablePlan | None:
    """Let a pending plan become what is wanted, and return it as it is then; the first one decides."""
    for _ in range(_MAX_LOST_SWAPS):
        try:
            found = store.get_versioned(path)
        except NotFound:
            return None
        durable = _decode(found.data, path)
        if durable.state != PENDING:
            return None if durable.state == WITHDRAWN and wanted == TAKEN else durable
        moved = replace(durable, state=wanted)
        with suppress(PreconditionFailed):
            store.replace(path, moved.encode(), found.etag)
            return moved
    raise Contention("others keep changing a recovery plan: try again", path=path)


def delete_plan(store: ObjectStore, operation_id: str) -> None:
    """Remove a plan that is settled."""
    hit(Failpoint.PLAN_BEFORE_DELETE)
    store.delete(layout.plan_path(operation_id))


def list_plans(store: ObjectStore) -> list[str]:
    """Return the paths of all plans, oldest first."""
    paths = sorted(info.path for info in layout.own(store.list(layout.RECOVERY)))
    hit(Failpoint.RECOVERY_AFTER_LIST)
    return paths


def read_plan(store: ObjectStore, path: str) -> DurablePlan | None:
    """Return a plan, or None when it is gone since it was listed."""
    try:
        data = store.get(path)
    except NotFound:
        return None
    return _decode(data, path)


def _decode(data: bytes, path: str) -> DurablePlan:
    try:
        return stored_format.decode_value(data, path, "recovery plan", DurablePlan)
    except FormatTooNew as error:
        raise UnreadablePlan(
            f"recovery plan {path} was written by a later release: open the graph with that release",
            path=path,
            later_release=True,
        ) from error
    except OmniError as error:
        raise UnreadablePlan(
            f"recovery plan {path} cannot be read ({error}): the write that left it is lost unless its "
            "writer lives",
            path=path,
        ) from error


def quarantine_of(path: str) -> str:
    """Return where a plan that cannot be read is kept."""
    return layout.quarantine_path(path)


def quarantine_plan(store: ObjectStore, path: str) -> None:
    """Put a plan that cannot be read aside, so that it is kept and stops nobody."""
    with suppress(NotFound):  # somebody else has
        store.move(path, quarantine_of(path))
