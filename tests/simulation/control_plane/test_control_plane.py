"""Histories of the control plane that a seed decides; on request many of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.graph.maintenance.cleanup import orphan_control_files, survey
from omnigraph.graph.manifest.condemned import CondemnedLists
from omnigraph.graph.manifest.floors import Floor
from omnigraph.graph.recovery import settle
from omnigraph.graph.write.prepare import Preparation
from simulation.control_plane import kernel
from simulation.control_plane.history import run_seed
from simulation.control_plane.planted import FLAWS
from simulation.control_plane.runs import Task, run_many, run_task
from simulation.control_plane.scenario import THEMES

HISTORIES = int(os.environ.get("OMNIGRAPH_SIMULATION_HISTORIES", "150"))
FIRST = int(os.environ.get("OMNIGRAPH_SIMULATION_SEED", "0"))
_SHORT = 60
_SETTLED_TWICE = 5_001_397
"""A frozen process settles a plan that another has settled, whose note a cleanup has dropped since."""
_NEVER_NAMED = Task(15_000_006, 1, "names")
"""A cleanup drops the first commits of a branch whose maker has just lost the name to another."""
_IN_A_HOLE = 12_004_612
"""A sleeper puts its record where a cleanup has removed one, and a read fails before it can know that."""
_BETWEEN = 12_009_442
"""A cleanup is overtaken by two others between its first look at their lists and its survey."""
_WITHOUT_SCHEMA = 41_005_389
"""A writer sleeps while a cleanup drops the commit that it began from, with its schema."""
_GIVEN_UP_BY_ANOTHER = Task(20_005_073, 1, "names")
"""A cleanup that was asleep in its survey finds a chain given up whose last record it has not seen."""
_IN_A_HOLE_BEFORE_A_LOOK = Task(45_000_028, 1, "sleepers")
"""A sleeper puts its record where a cleanup has removed one, before the last look of the next, and dies."""
_ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("theme", sorted(THEMES))
def test_no_history_of_a_theme_loses_doubles_or_damages_anything(theme: str) -> None:
    found = run_task(Task(FIRST, _SHORT, theme))
    assert not found, "\n".join(map(str, found))


@pytest.mark.timeout(0)
def test_no_history_of_many_loses_doubles_or_damages_anything() -> None:
    found = run_many(FIRST, HISTORIES)
    assert not found, "\n".join(map(str, found))


def test_a_plan_that_was_settled_and_deleted_is_not_settled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run_task(Task(_SETTLED_TWICE, 1))
    monkeypatch.setattr(settle, "_is_gone", lambda truth, plan: False)
    assert run_task(Task(_SETTLED_TWICE, 1)), "the seed tells nothing any more: look for another"


def test_who_loses_a_name_to_another_knows_it_beside_a_cleanup(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run_task(_NEVER_NAMED)
    monkeypatch.setattr(CondemnedLists, "find_removed", lambda lists, fence: None)
    assert run_task(_NEVER_NAMED), "the seed tells nothing any more: look for another"


def test_a_record_in_a_hole_is_not_taken_for_a_commit_after_a_failed_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not run_task(Task(_IN_A_HOLE, 1))
    monkeypatch.setattr(Floor, "holds", lambda floor, seq: True)
    assert run_task(Task(_IN_A_HOLE, 1)), "the seed tells nothing any more: look for another"


def test_a_cleanup_that_others_have_overtaken_is_contention(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run_task(Task(_BETWEEN, 1))
    monkeypatch.setattr(CondemnedLists, "newest", lambda lists: 0)
    assert run_task(Task(_BETWEEN, 1)), "the seed tells nothing any more: look for another"


def test_a_schema_that_went_with_its_commit_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run_task(Task(_WITHOUT_SCHEMA, 1))
    monkeypatch.setattr(Preparation, "raise_if_swept", lambda *given: None)
    assert run_task(Task(_WITHOUT_SCHEMA, 1)), "the seed tells nothing any more: look for another"


def test_a_floor_stays_until_its_last_record_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run_task(_GIVEN_UP_BY_ANOTHER)
    monkeypatch.setattr(orphan_control_files, "_holds_records", lambda store, incarnation: False)
    assert run_task(_GIVEN_UP_BY_ANOTHER), "the seed tells nothing any more: look for another"


def test_a_record_in_a_hole_is_not_what_was_published_since(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run_task(_IN_A_HOLE_BEFORE_A_LOOK)
    monkeypatch.setattr(survey, "_held", lambda truth, incarnation, records: [*records.values()])
    assert run_task(_IN_A_HOLE_BEFORE_A_LOOK), "the seed tells nothing any more: look for another"


@pytest.mark.parametrize("name", sorted(FLAWS))
def test_a_planted_flaw_is_found(name: str) -> None:
    flaw = FLAWS[name]
    found = run_task(Task(0, flaw.histories, flaw.theme, name, enough=1))
    assert found, f"not found: {flaw.what}"
    assert not run_task(Task(found[0].seed, 1, flaw.theme)), f"wrong without the flaw as well: {found[0]}"


def test_a_seed_gives_the_same_history_in_another_process() -> None:
    seeds = range(12)
    with kernel.simulated():
        here = [run_seed(seed).digest for seed in seeds]
    code = (
        "from simulation.control_plane import kernel; from simulation.control_plane.history import run_seed\n"
        f"with kernel.simulated(): print(*(run_seed(seed).digest for seed in {list(seeds)}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(_paths())}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == here


def _paths() -> list[str]:
    return [str(_ROOT / "src"), str(_ROOT / "tests")]
