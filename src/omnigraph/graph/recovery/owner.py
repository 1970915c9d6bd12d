"""Who wrote a plan, and whether that writer still lives."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from omnigraph.base import clock
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import listed

_PROC = "/proc"
_in_flight: set[str] = set()
_lock = threading.Lock()


@listed
@dataclass(frozen=True, slots=True)
class Owner:
    """A process: its machine, its number there, when it started, and a name of its own."""

    machine: str
    pid: int
    started: str
    process: str


def this_process() -> Owner:
    """Return the owner that this process is."""
    return _owner_of(os.getpid())


@contextmanager
def in_flight(operation_id: str) -> Iterator[None]:
    """Mark an operation of this process as running, so that its plan is left alone."""
    with _lock:
        _in_flight.add(operation_id)
    try:
        yield
    finally:
        with _lock:
            _in_flight.discard(operation_id)


def is_alive(owner: Owner, operation_id: str, created_at: int, lease_seconds: float) -> bool:
    """Return whether the writer of a plan may still be working on it.

    On this machine the process table knows; where it hides other users' processes, whether there is one with
    this number. Of another machine only the plan's age is known. It is a guess about when to try, and errs
    on the side of alive.
    """
    mine = this_process()
    if owner.process == mine.process:
        with _lock:
            return operation_id in _in_flight
    if owner.machine == mine.machine:
        return _runs(owner.pid, owner.started)
    return clock.current().now_us() - created_at < lease_seconds * 1e6


@cache
def _owner_of(pid: int) -> Owner:
    return Owner(_machine(), pid, _start_time(pid) or "", new_ulid())


def _machine() -> str:
    """Name this machine as its process numbers count: containers share a kernel but not their numbers."""
    try:
        with open(f"{_PROC}/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return boot + "/" + os.readlink(f"{_PROC}/self/ns/pid")
    except OSError:
        return f"{platform.node()}/{platform.system()}"


def _runs(pid: int, started: str) -> bool:
    """Return whether a process of this machine lives; one that is hidden from us counts as the one meant."""
    found = _start_time(pid)
    return _takes_signals(pid) if found is None else found == started != ""


def _start_time(pid: int) -> str | None:
    """Return when a process started, an empty text when it only waits to be reaped, None when nobody tells.

    A file that is not there does not mean that the process is gone: /proc may hide those of other users.
    """
    try:
        with open(f"{_PROC}/{pid}/stat") as file:
            state, *rest = file.read().rpartition(")")[2].split()
        return "" if state in "ZX" else rest[18]
    except (OSError, ValueError, IndexError):
        return None


def _takes_signals(pid: int) -> bool:
    """Return whether there is a process with this number; it may be another one: the safe guess."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is there, and another user's
    return True
