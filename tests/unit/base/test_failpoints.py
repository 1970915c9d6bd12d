"""Failpoints: a closed catalogue, four actions, real processes for kill and park."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.base import clock, failpoints
from omnigraph.base.errors import Unavailable
from omnigraph.base.failpoints import Failpoint, InjectedFault, UnknownFailpoint
from support.seeded_clock import SeededClock

POINT = Failpoint.PUBLISH_BEFORE_RECORD
HIT_THREE_TIMES = """
from omnigraph.base.failpoints import Failpoint, hit
for number in (1, 2, 3):
    print(number, flush=True)
    hit(Failpoint.PUBLISH_BEFORE_RECORD)
print("end", flush=True)
"""


def start(program: str, points: str, folder: Path | None = None) -> subprocess.Popen[str]:
    environment = {**os.environ, failpoints.ENVIRONMENT: points}
    if folder is not None:
        environment[failpoints.FOLDER] = str(folder)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture(autouse=True)
def nothing_stays_armed() -> Iterator[None]:
    yield
    for point in Failpoint:
        failpoints.disarm(point.value)


def test_a_point_that_is_not_armed_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    acted: list[Failpoint] = []
    monkeypatch.setattr(failpoints, "_act", acted.append)
    for point in Failpoint:
        failpoints.hit(point)
    assert acted == []


def test_an_armed_point_raises_inside_the_block_and_only_there() -> None:
    with failpoints.arm_temporarily("publish.before_record", "raise"):
        failpoints.hit(Failpoint.PUBLISH_AFTER_RECORD)
        with pytest.raises(InjectedFault, match=r"publish\.before_record"):
            failpoints.hit(POINT)
    failpoints.hit(POINT)


def test_an_injected_fault_is_an_input_output_error() -> None:
    assert issubclass(InjectedFault, OSError)


def test_a_point_can_raise_an_error_of_ours_by_its_code() -> None:
    with failpoints.arm_temporarily("publish.before_record", "raise:unavailable"), pytest.raises(Unavailable):
        failpoints.hit(POINT)


def test_a_point_can_wait_for_its_nth_hit_and_acts_once() -> None:
    with failpoints.arm_temporarily("publish.before_record", "raise@2"):
        failpoints.hit(POINT)
        with pytest.raises(InjectedFault):
            failpoints.hit(POINT)
        failpoints.hit(POINT)


def test_a_misspelt_point_is_an_error_that_lists_near_misses() -> None:
    with pytest.raises(UnknownFailpoint, match=r"publish\.before_record"):
        failpoints.arm("publish.befor_record", "raise")


@pytest.mark.parametrize("action", ["explode", "kill@0", "kill@x", "raise:no_such_code", "park:x"])
def test_an_unknown_action_is_an_error(action: str) -> None:
    with pytest.raises(UnknownFailpoint):
        failpoints.arm("publish.before_record", action)


def test_a_list_arms_every_point_in_it() -> None:
    failpoints.arm_all(" publish.before_record=raise ; plan.after_put=raise:unavailable;")
    with pytest.raises(InjectedFault):
        failpoints.hit(POINT)
    with pytest.raises(Unavailable):
        failpoints.hit(Failpoint.PLAN_AFTER_PUT)


def test_a_list_item_without_an_action_is_an_error() -> None:
    with pytest.raises(UnknownFailpoint, match="point=action"):
        failpoints.arm_all("publish.before_record")


def test_a_misspelt_point_in_the_environment_stops_the_program_at_import() -> None:
    process = start(HIT_THREE_TIMES, "publish.befor_record=kill")
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "publish.before_record" in complaint


def test_kill_ends_the_process_with_sigkill_at_the_nth_hit() -> None:
    process = start(HIT_THREE_TIMES, "publish.before_record=kill@2")
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert printed.split() == ["1", "2"]


def test_a_parked_process_waits_until_it_is_released(tmp_path: Path) -> None:
    process = start(HIT_THREE_TIMES, "publish.before_record=park@1", tmp_path)
    while not (tmp_path / "publish.before_record.parked").exists():
        assert process.poll() is None
    assert process.poll() is None
    (tmp_path / "publish.before_record.release").touch()
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert printed.split() == ["1", "2", "3", "end"]


def test_a_parked_process_that_nobody_releases_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(failpoints.FOLDER, str(tmp_path))
    monkeypatch.setattr(failpoints, "PARK_SECONDS", 0.05)
    with (
        failpoints.arm_temporarily("publish.before_record", "park"),
        pytest.raises(InjectedFault, match="not released"),
    ):
        failpoints.hit(POINT)


def test_parking_waits_in_real_time_under_a_seeded_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(failpoints.FOLDER, str(tmp_path))
    monkeypatch.setattr(failpoints, "PARK_SECONDS", 0.05)
    before = clock.install(SeededClock(1))
    started = before.monotonic()
    try:
        with failpoints.arm_temporarily("publish.before_record", "park"), pytest.raises(InjectedFault):
            failpoints.hit(POINT)
    finally:
        clock.install(before)
    assert before.monotonic() - started >= 0.05


def test_parking_without_a_folder_says_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(failpoints.FOLDER, raising=False)
    with (
        failpoints.arm_temporarily("publish.before_record", "park"),
        pytest.raises(UnknownFailpoint, match=failpoints.FOLDER),
    ):
        failpoints.hit(POINT)


def test_every_point_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/failpoints.md").read_text()
    documented = re.findall(r"^\| `([a-z_.]+\.[a-z_.]+)` \|", page, re.MULTILINE)
    assert documented == [point.value for point in Failpoint]
