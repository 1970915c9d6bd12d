"""What makes a client: its log, and the machine that it claims to run on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from jepsen.client import Assignment, Client, disguise, prepare
from jepsen.history import BROKEN, FAIL, OK, UNKNOWN, Log, read_history
from omnigraph.base import settings
from omnigraph.base.errors import Contention, CorruptState, Unavailable
from support.processes import run_and_wait, run_together


def machine_in_disguise(name: str) -> str:
    """Return the machine that this process has for its peers."""
    from omnigraph.graph.recovery.owner import this_process

    disguise(name)
    return this_process().machine


def test_clients_in_different_disguises_are_on_different_machines() -> None:
    one, other, same = run_together(machine_in_disguise, [("1",), ("2",), ("1",)])
    assert one != other
    assert one == same


def settings_of_a_client(folder: str) -> float:
    """Return a setting as a client sees it."""
    prepare(Assignment("c0g0", "1", "", None, Path(folder), {"OMNIGRAPH_PLAN_LEASE_SECONDS": "0.25"}))
    return settings.Settings.from_environment().plan_lease_seconds


def test_a_client_has_the_settings_of_its_assignment(tmp_path: Path) -> None:
    assert run_together(settings_of_a_client, [(str(tmp_path),)]) == [0.25]


def die_in_an_operation(folder: str) -> None:
    """Do one operation, begin another, and be killed in it."""
    log = Log(Path(folder), "c0g0")
    log.end(log.invoke("append", {}), OK, {})
    log.invoke("append", {})
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_client_leaves_an_operation_without_an_answer(tmp_path: Path) -> None:
    assert run_and_wait(die_in_an_operation, str(tmp_path)) == -signal.SIGKILL
    with open(tmp_path / "c0g0.log", "a", encoding="utf-8") as file:
        file.write('{"at": 1.0, "op": 2, "is": "inv')  # a line that was cut off
    assert [(op.name, op.outcome) for op in read_history(tmp_path).ops] == [
        ("c0g0-0", OK),
        ("c0g0-1", UNKNOWN),
    ]


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (Contention("again"), FAIL, "contention"),
        (Unavailable("no answer"), UNKNOWN, "unavailable"),
        (CorruptState("a hole"), BROKEN, "corrupt_state"),
        (KeyError("x"), BROKEN, "KeyError"),
    ],
)
def test_an_error_says_whether_the_operation_failed(
    error: Exception, outcome: str, code: str, tmp_path: Path
) -> None:
    client = Client(Assignment("c0g0", "1", "", None, tmp_path))

    def act() -> dict[str, object]:
        raise error

    assert client.attempt("append", {}, act) is None
    (op,) = read_history(tmp_path).ops
    assert (op.outcome, op.code) == (outcome, code)
