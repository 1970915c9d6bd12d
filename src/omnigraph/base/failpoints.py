"""Named places in the code at which a test can make the program fail, wait or die."""

from __future__ import annotations

import difflib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from omnigraph.base import clock, errors


class Failpoint(StrEnum):
    """The catalogue; the code names a point only through it."""

    TABLE_BEFORE_PIN = "table.before_pin"
    TABLE_AFTER_PIN = "table.after_pin"
    WRITE_AFTER_STAGE = "write.after_stage"
    WRITE_AFTER_TABLE_COMMIT = "write.after_table_commit"
    WRITE_AFTER_ALL_TABLES = "write.after_all_tables"
    PLAN_BEFORE_PUT = "plan.before_put"
    PLAN_AFTER_PUT = "plan.after_put"
    PLAN_BEFORE_DELETE = "plan.before_delete"
    PUBLISH_BEFORE_RECORD = "publish.before_record"
    PUBLISH_AFTER_RECORD = "publish.after_record"
    PUBLISH_BEFORE_HINT = "publish.before_hint"
    RECOVERY_AFTER_LIST = "recovery.after_list"
    RECOVERY_BEFORE_PUBLISH = "recovery.before_publish"
    RECOVERY_AFTER_PUBLISH = "recovery.after_publish"
    RECOVERY_BEFORE_DELETE = "recovery.before_delete"
    BRANCH_CREATE_BEFORE_REF = "branch.create.before_ref"
    BRANCH_CREATE_BEFORE_CHECK = "branch.create.before_check"
    BRANCH_CREATE_AFTER_REF = "branch.create.after_ref"
    BRANCH_DELETE_BEFORE_CLOSE = "branch.delete.before_close"
    BRANCH_DELETE_AFTER_CLOSE = "branch.delete.after_close"
    BRANCH_DELETE_AFTER_REF = "branch.delete.after_ref"
    BRANCH_RENAME_AFTER_HOLD = "branch.rename.after_hold"
    BRANCH_RENAME_AFTER_DELETE = "branch.rename.after_delete"
    BRANCH_REBASE_BEFORE_CLOSE = "branch.rebase.before_close"
    BRANCH_REBASE_AFTER_CLOSE = "branch.rebase.after_close"
    INIT_AFTER_SCHEMA = "init.after_schema"
    INIT_AFTER_TABLES = "init.after_tables"
    INIT_AFTER_GENESIS = "init.after_genesis"
    INIT_AFTER_STAMP = "init.after_stamp"
    MERGE_AFTER_CAPTURE = "merge.after_capture"
    MERGE_AFTER_CHECKS = "merge.after_checks"
    PROPOSAL_AFTER_START = "proposal.after_start"
    PROPOSAL_BEFORE_MERGED = "proposal.before_merged"
    MAINTENANCE_AFTER_COMPACT = "maintenance.after_compact"
    MAINTENANCE_AFTER_FOLD = "maintenance.after_fold"
    MAINTENANCE_AFTER_INDEX = "maintenance.after_index"
    CLEANUP_AFTER_SURVEY = "cleanup.after_survey"
    CLEANUP_AFTER_PROPOSALS = "cleanup.after_proposals"
    CLEANUP_AFTER_FLOORS = "cleanup.after_floors"
    CLEANUP_AFTER_LIST = "cleanup.after_list"
    CLEANUP_AFTER_FENCES = "cleanup.after_fences"
    CLEANUP_BEFORE_DELETE = "cleanup.before_delete"
    CLEANUP_AFTER_TABLE = "cleanup.after_table"
    CLEANUP_BEFORE_RECORDS = "cleanup.before_records"
    CLEANUP_AFTER_RECORDS = "cleanup.after_records"
    TAG_AFTER_CREATE = "tag.after_create"
    BACKUP_AFTER_HOLD = "backup.after_hold"
    BACKUP_AFTER_VIEW = "backup.after_view"
    BACKUP_AFTER_FILE = "backup.after_file"
    BACKUP_AFTER_FILES = "backup.after_files"
    BACKUP_BEFORE_MANIFEST = "backup.before_manifest"
    BACKUP_AFTER_MANIFEST = "backup.after_manifest"
    RESTORE_AFTER_FILE = "restore.after_file"
    RESTORE_AFTER_FILES = "restore.after_files"
    RESTORE_BEFORE_STAMP = "restore.before_stamp"
    RESTORE_AFTER_STAMP = "restore.after_stamp"
    MIGRATE_BEFORE_STAMP = "migrate.before_stamp"
    CLUSTER_BEFORE_CREATE = "cluster.before_create"
    CLUSTER_AFTER_CREATE = "cluster.after_create"
    CLUSTER_BEFORE_SCHEMA = "cluster.before_schema"
    CLUSTER_AFTER_SCHEMA = "cluster.after_schema"
    CLUSTER_AFTER_PAYLOADS = "cluster.after_payloads"
    CLUSTER_BEFORE_DELETE = "cluster.before_delete"
    CLUSTER_DELETE_AFTER_MANIFEST = "cluster.delete.after_manifest"
    CLUSTER_AFTER_DELETE = "cluster.after_delete"
    CLUSTER_BEFORE_STATE = "cluster.before_state"
    CLUSTER_AFTER_STATE = "cluster.after_state"
    CLUSTER_BEFORE_INTENT_DELETE = "cluster.before_intent_delete"
    CLUSTER_BEFORE_APPROVAL_NOTE = "cluster.before_approval_note"


ENVIRONMENT = "OMNIGRAPH_FAILPOINTS"
FOLDER = "OMNIGRAPH_FAILPOINT_DIR"
PARK_SECONDS = 60.0
_POLL_SECONDS = 0.002


class InjectedFault(OSError):
    """The failure that an armed point raises; an OSError to the code around it."""


class UnknownFailpoint(ValueError):
    """A failpoint or an action that does not exist: a mistake in a test."""


@dataclass(slots=True)
class _Armed:
    act: Callable[[Failpoint], None]
    nth: int | None
    hits: int = 0


_armed: dict[Failpoint, _Armed] = {}
_lock = threading.Lock()


def hit(point: Failpoint) -> None:
    """Perform the action that this point is armed with, if any."""
    if _armed:
        _act(point)


def arm(name: str, action: str) -> None:
    """Arm a point with `raise`, `raise:<error code>`, `park` or `kill`; `kill@3` waits for the third hit."""
    point = _find(name)
    what, _, nth = action.partition("@")
    if nth and (not nth.isdigit() or int(nth) == 0):
        raise UnknownFailpoint(f"{action!r} does not say which hit: write {what}@1 for the first")
    with _lock:
        _armed[point] = _Armed(_action(what), int(nth) if nth else None)


def disarm(name: str) -> None:
    """Disarm a point."""
    with _lock:
        _armed.pop(_find(name), None)


@contextmanager
def arm_temporarily(name: str, action: str) -> Iterator[None]:
    """Arm a point inside the block."""
    arm(name, action)
    try:
        yield
    finally:
        disarm(name)


def arm_all(text: str) -> None:
    """Arm the points of a list such as `publish.before_record=kill@2;plan.after_put=raise`."""
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, action = item.partition("=")
        if not equals:
            raise UnknownFailpoint(f"{item!r} is not of the form point=action")
        arm(name.strip(), action.strip())


def _act(point: Failpoint) -> None:
    with _lock:
        found = _armed.get(point)
        if found is None:
            return
        found.hits += 1
        due = found.nth is None or found.hits == found.nth
    if due:
        found.act(point)


def _find(name: str) -> Failpoint:
    try:
        return Failpoint(name)
    except ValueError:
        names = [point.value for point in Failpoint]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names
        raise UnknownFailpoint(f"there is no failpoint {name!r}; did you mean {' or '.join(near)}?") from None


def _action(what: str) -> Callable[[Failpoint], None]:
    kind, _, code = what.partition(":")
    if kind == "raise":
        return _raise_injected if not code else _raiser(code)
    if what == "park":
        return _park
    if what == "kill":
        return _kill
    raise UnknownFailpoint(f"{what!r} is not an action: use raise, raise:<error code>, park or kill")


def _raise_injected(point: Failpoint) -> None:
    raise InjectedFault(f"injected at {point.value}")


def _raiser(code: str) -> Callable[[Failpoint], None]:
    kinds = {kind.code: kind for kind in vars(errors).values() if _is_error(kind)}
    if code not in kinds:
        near = difflib.get_close_matches(code, kinds, n=3, cutoff=0.4) or sorted(kinds)
        raise UnknownFailpoint(f"no error has the code {code!r}; did you mean {' or '.join(near)}?")

    def act(point: Failpoint) -> None:
        raise kinds[code](f"injected at {point.value}")

    return act


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, errors.OmniError) and thing.__name__[0] != "_"


def _kill(point: Failpoint) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _park(point: Failpoint) -> None:
    folder = os.environ.get(FOLDER)
    if not folder:
        raise UnknownFailpoint(f"{point.value} is to park: set {FOLDER} to a folder first")
    release = Path(folder, f"{point.value}.release")
    Path(folder, f"{point.value}.parked").touch()
    # A parked process waits in real time, whatever clock the program under test has.
    wall = clock.Clock()
    deadline = wall.monotonic() + PARK_SECONDS
    while not release.exists():
        if wall.monotonic() > deadline:
            raise InjectedFault(f"parked at {point.value} and not released within {PARK_SECONDS:.0f} seconds")
        wall.sleep(_POLL_SECONDS)


arm_all(os.environ.get(ENVIRONMENT, ""))
