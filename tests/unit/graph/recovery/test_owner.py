"""Whether the writer of a plan lives: real processes, and a /proc that really hides them."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.graph.recovery import owner as owners
from omnigraph.graph.recovery.owner import Owner, is_alive, this_process

NOBODY = 65534
SLEEP = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
ASK = """
import json, os, sys
from omnigraph.graph.recovery import owner  # before its files may not be read any more
uid, machine, pid, started, empty = json.loads(sys.argv[1])
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
if empty:
    owner._PROC = empty
print(os.path.exists(f"{owner._PROC}/{pid}/stat"), owner._runs(pid, started))
"""


@pytest.fixture
def writer() -> Iterator[subprocess.Popen[str]]:
    """A process that lives until it is ended."""
    process = subprocess.Popen(SLEEP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def owner_of(pid: int) -> Owner:
    return Owner(this_process().machine, pid, owners._start_time(pid) or "", "another")


def hiding() -> list[str] | None:
    """Return the command that gives a program a /proc of its own, which hides other users' processes."""
    release = tuple(int(part) for part in platform.release().split(".")[:2])
    if os.getuid() != 0 or release < (5, 8):  # before, it would hide them from the whole machine
        return None
    command = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if done.returncode == 0 else None


def ask_as_nobody(owner: Owner, empty: Path) -> tuple[str, str]:
    """Return whether another user sees a process in /proc, and whether it says that the process lives.

    Where no /proc can be mounted, an empty folder stands for it.
    """
    command = hiding()
    given = [NOBODY, owner.machine, owner.pid, owner.started, "" if command else str(empty)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [*(command or []), sys.executable, "-c", ASK, json.dumps(given)],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    seen, lives = done.stdout.split()
    return seen, lives


def test_a_process_that_is_hidden_counts_as_alive_until_it_ends(
    writer: subprocess.Popen[str], tmp_path: Path
) -> None:
    meant = owner_of(writer.pid)
    assert ask_as_nobody(meant, tmp_path) == ("False", "True")
    writer.kill()
    writer.wait()
    assert ask_as_nobody(meant, tmp_path) == ("False", "False")


def test_a_process_of_another_user_counts_as_alive(writer: subprocess.Popen[str]) -> None:
    assert is_alive(owner_of(writer.pid), "operation", 0, 0.0)


def test_a_stopped_process_is_alive_and_a_dead_one_is_not_even_before_it_is_reaped(
    writer: subprocess.Popen[str],
) -> None:
    meant = owner_of(writer.pid)
    os.kill(writer.pid, signal.SIGSTOP)
    assert is_alive(meant, "operation", 0, 0.0)
    os.kill(writer.pid, signal.SIGKILL)
    os.waitid(os.P_PID, writer.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(meant, "operation", 0, 0.0)
    writer.wait()
    assert not is_alive(meant, "operation", 0, 0.0)


def test_another_process_with_the_same_number_is_not_the_writer(writer: subprocess.Popen[str]) -> None:
    meant = owner_of(writer.pid)
    assert not is_alive(Owner(meant.machine, meant.pid, "1", "another"), "operation", 0, 0.0)


def test_without_proc_a_process_that_takes_signals_is_alive(
    writer: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "_PROC", str(tmp_path))
    meant = Owner(this_process().machine, writer.pid, "", "another")
    assert is_alive(meant, "operation", 0, 0.0)
    writer.kill()
    writer.wait()
    assert not is_alive(meant, "operation", 0, 0.0)
