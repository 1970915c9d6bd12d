"""A power cut at any moment: what was acknowledged is there, all of it, and nothing is damaged.

A real program makes one of every kind of write; the kernel tells of every change of a file. The changes are
replayed up to a point, what was not flushed is lost in the worst way or at random, and the graph is opened
there. `OMNIGRAPH_POWER_CUTS` says how many random points are tried (a minute takes about 300).
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import NotAGraph, OmniError
from support import power_cut_workload as workload
from support.power_cut import Disk, Loss, everything, nothing
from support.recorder import Step, record

pytestmark = pytest.mark.long

POINTS = int(os.environ.get("OMNIGRAPH_POWER_CUTS", "40"))
SEED = int(os.environ.get("OMNIGRAPH_SEED", "20260701"))


@dataclass(frozen=True)
class Recording:
    """What the program did below a folder, and what its graph said after each write."""

    base: Path
    steps: list[Step]
    states: list[tuple[str, workload.State]]

    @cached_property
    def marks(self) -> list[int]:
        """After which step each write was acknowledged."""
        return [place + 1 for place, step in enumerate(self.steps) if step.what == "mark"]

    def cut(self, point: int, loss: Loss, target: Path) -> Path:
        """Write what a power cut after so many steps leaves, and return where the graph is there."""
        disk = Disk(self.base)
        disk.replay(self.steps[:point])
        disk.leave(target, loss)
        return target / "graph"

    def acknowledged(self, point: int) -> int:
        """Return how many writes were acknowledged by then."""
        return sum(mark <= point for mark in self.marks)


def recorded(folder: Path, fsync: str) -> Recording:
    base, states = folder / "base", folder / "states"
    base.mkdir()
    command = [sys.executable, workload.__file__, str(base / "graph"), fsync, str(states)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    steps = record(base, command, folder / "steps", environment)
    found = Recording(base, steps, pickle.loads(states.read_bytes()))
    assert len(found.marks) == len(found.states)
    return found


@pytest.fixture(scope="module")
def flushed(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(tmp_path_factory.mktemp("flushed"), "true")


def check(recording: Recording, point: int, graph_folder: Path, tries: str) -> None:
    """Open what a power cut has left: it is what was acknowledged, with or without the write under way."""
    done = recording.acknowledged(point)
    if done == 0:
        try:
            og.open(graph_folder)
        except NotAGraph:
            og.init(graph_folder, workload.SCHEMA)
        return
    graph = og.open(graph_folder)
    allowed = recording.states[done - 1 : done + 1]
    if allowed[-1][0] == "rename" and not {"side", "late"} & set(graph.branches.list()):
        graph.branches.rename("side", "late")  # it was cut off between the two names
    found = workload.state_of(graph)
    assert _is_one_of(found, [state for _, state in allowed]), (
        f"{tries}: after {allowed[0][0]!r} (step {point}) the graph says {found}"
    )
    damage = [item for item in graph.repair().findings if item.severity == "damage"]
    assert damage == [], f"{tries}: after {allowed[0][0]!r} (step {point})"
    graph.branches.unprotect("main")
    graph.mutate('query q() { insert Person { name: "new", age: 1 } }')


def _is_one_of(found: workload.State, allowed: list[workload.State]) -> bool:
    """Say whether a graph is as it was before or after a write; a cleanup may have got anywhere."""
    for part in ("branches", "tags"):
        names = [set(state[part]) for state in allowed]
        if not set.intersection(*names) <= set(found[part]) <= set.union(*names):
            return False
    for part in ("tags", "queries", "proposals"):
        if found[part] not in [state[part] for state in allowed]:
            return False
    for branch, (rows, commits) in found["branches"].items():
        known = [state["branches"][branch] for state in allowed if branch in state["branches"]]
        if rows not in [each for each, _ in known]:
            return False
        fewest = set.intersection(*(set(ids) for _, ids in known))
        if not fewest <= set(commits):
            return False
    return True


def test_the_recording_holds_every_change(flushed: Recording, tmp_path: Path) -> None:
    assert [step for step in flushed.steps if step.what == "unknown"] == []
    again = flushed.cut(len(flushed.steps), everything, tmp_path / "again")
    assert files(again) == files(flushed.base / "graph")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_every_write_is_there_when_the_power_is_cut_right_after_it(
    flushed: Recording, tmp_path: Path
) -> None:
    for number, point in enumerate(flushed.marks):
        left = flushed.cut(point, nothing, tmp_path / str(number))
        check(flushed, point, left, "all lost")
        assert workload.state_of(og.open(left, read_only=True))["branches"].keys() == (
            flushed.states[number][1]["branches"].keys()
        )
        shutil.rmtree(tmp_path / str(number))


def test_a_power_cut_at_any_moment_leaves_what_was_acknowledged(flushed: Recording, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    for number in range(POINTS):
        point = chance.randrange(len(flushed.steps) + 1)
        loss: Loss = chance.choice([nothing, everything, *[lambda count: chance.randint(0, count)] * 2])
        left = flushed.cut(point, loss, tmp_path / str(number))
        check(flushed, point, left, f"seed {SEED}, try {number}")
        shutil.rmtree(tmp_path / str(number))


def test_the_cuts_would_tell_if_tables_were_not_flushed(flushed: Recording, tmp_path: Path) -> None:
    flushes = ("/graph/nodes/", "/graph/edges/")
    steps = [
        step
        for step in flushed.steps
        if step.what != "flush" or not any(part in f"{step.path}/" for part in flushes)
    ]
    careless = Recording(flushed.base, steps, flushed.states)
    left = careless.cut(careless.marks[1], nothing, tmp_path / "left")
    with pytest.raises((OmniError, AssertionError)):
        check(careless, careless.marks[1], left, "tables not flushed")
