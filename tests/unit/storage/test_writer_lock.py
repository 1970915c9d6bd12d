"""Turns of writers on one machine: real locks, real stopped processes, a kernel that really refuses."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
from pathlib import Path

import pytest

from omnigraph.base.errors import OmniError
from omnigraph.storage.objects import open_store
from omnigraph.storage.writer_lock import turn
from support.processes import run_together, stopped_process
from support.seccomp import refuse

FOREVER = 100_000.0


def stop_in_turn(uri: str) -> bool:
    with turn(open_store(uri), "branch", FOREVER) as mine:
        os.kill(os.getpid(), signal.SIGSTOP)
        return mine


def take_turns_without_locks(uri: str, error: int) -> tuple[list[bool], list[str]]:
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("omnigraph").addHandler(handler)
    refuse(["flock"], error)
    had = []
    for _ in range(3):
        with turn(open_store(uri), "branch", FOREVER) as mine:
            had.append(mine)
    return had, said


def write_without(uri: str, calls: list[str], error: int) -> list[str]:
    refuse(calls, error)
    store = open_store(uri)
    said = []
    for act in (store.put, store.create):
        try:
            act("a", b"1")
            said.append("done")
        except OmniError as refused:
            said.append(f"{refused.code}: {refused.message}")
    return said


def test_one_writer_at_a_time_has_the_turn(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    with turn(store, "branch", 0) as mine, turn(store, "branch", 0) as other, turn(store, "else", 0) as apart:
        assert (mine, other, apart) == (True, False, True)


def test_a_stopped_holder_is_overtaken_and_paid_for_once(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    with stopped_process(stop_in_turn, str(tmp_path)) as go_on:
        with turn(store, "branch", 0.2) as mine:
            assert not mine
        with turn(store, "branch", FOREVER) as mine:  # would wait for the stopped one for ever
            assert mine
        assert go_on()


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS])
def test_a_disk_without_locks_is_found_out_once_told_once_and_not_waited_for(
    tmp_path: Path, error: int
) -> None:
    ((had, said),) = run_together(take_turns_without_locks, [(str(tmp_path), error)])
    assert had == [False] * 3
    assert len(said) == 1
    assert "no file locks" in said[0]


def test_the_store_itself_needs_no_file_locks(tmp_path: Path) -> None:
    (said,) = run_together(write_without, [(str(tmp_path / "g"), ["flock"], errno.EOPNOTSUPP)])
    assert said[0] == "done"
    assert said[1].startswith("already_exists")


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EPERM, errno.ENOSYS])
def test_a_disk_without_hard_links_refuses_what_would_not_be_safe_and_says_why(
    tmp_path: Path, error: int
) -> None:
    (said,) = run_together(write_without, [(str(tmp_path / "g"), ["link", "linkat"], error)])
    assert all(line.startswith("read_only") and "hard links" in line for line in said), said
    assert os.listdir(tmp_path / "g/.og/staging") == []


def test_a_lock_is_let_go_with_its_turn(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    with turn(store, "branch", 0):
        pass
    with open(tmp_path / ".og/turns/branch") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
