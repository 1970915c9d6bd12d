"""A soak: loads and streaming batches among dying tasks, workers, races and drivers; all arrives, once."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.failpoints import ENVIRONMENT
from support import soak_driver
from support.graphs import plan_paths
from support.integrity_oracle import assert_integrity

LOADS = BATCHES = int(os.environ.get("OMNIGRAPH_SOAK", "5"))
"""`OMNIGRAPH_SOAK=50` is the long form, some ten minutes on a quiet machine."""
DEATHS = 2 if LOADS < 20 else 4
POINTS = (
    "write.after_stage",
    "plan.after_put",
    "publish.before_record",
    "publish.after_record",
    "plan.before_delete",
)
SEED = int(os.environ.get("OMNIGRAPH_SOAK_SEED", "20261115"))


def _checksum(rows: list[Any]) -> str:
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()


def _expected(seed: int, steps: int) -> tuple[dict[str, int], list[tuple[str, str, int]]]:
    """Return what the source says: the newest age of everybody, and every edge."""
    people: dict[str, int] = {}
    knows: list[tuple[str, str, int]] = []
    for step in range(steps):
        for record in soak_driver.records(seed, step):
            data = record["data"]
            if "type" in record:
                people[data["name"]] = data["age"]
            else:
                knows.append((record["from"], record["to"], data["n"]))
        if soak_driver.has_racer(seed, step):
            people[f"race-{step}"] = step
    return people, knows


def _run(root: Path, inputs: Path, kill: str) -> int:
    environment = {
        **os.environ,
        ENVIRONMENT: kill,
        "OMNIGRAPH_SPARK_SPLIT_BYTES": "1500",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    code = [sys.executable, soak_driver.__file__, str(root), str(inputs), str(SEED), str(LOADS)]
    done = subprocess.run(code, env=environment, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode in (0, -signal.SIGKILL), f"seed {SEED}, {kill}: {done.stderr[-3000:]}"
    return done.returncode


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_everything_arrives_once_whatever_dies(tmp_path: Path) -> None:
    root, inputs = tmp_path / "graph", tmp_path / "inputs"
    og.init(root, soak_driver.SCHEMA)
    soak_driver.write_inputs(inputs, SEED, LOADS, BATCHES)
    chance = random.Random(SEED)
    deaths = 0
    for _ in range(DEATHS):
        kill = f"{chance.choice(POINTS)}=kill@{chance.randint(3, (LOADS + BATCHES) // (DEATHS + 1))}"
        deaths += _run(root, inputs, kill) != 0
    assert _run(root, inputs, "") == 0
    assert deaths == DEATHS, f"seed {SEED}"

    people, knows = _expected(SEED, LOADS + BATCHES)
    snapshot = og.open(root).snapshot()
    stored = snapshot.table("node:Person").scan(["name", "age"]).to_pylist()
    edges = snapshot.table("edge:Knows").scan(["src", "dst", "n"]).to_pylist()
    found_people = [(row["name"], row["age"]) for row in stored]
    found_knows = [(row["src"], row["dst"], row["n"]) for row in edges]
    assert (len(found_people), len(found_knows)) == (len(people), len(knows)), f"seed {SEED}"
    assert _checksum(found_people) == _checksum(list(people.items())), f"seed {SEED}"
    assert _checksum(found_knows) == _checksum(knows), f"seed {SEED}"
    assert plan_paths(str(root)) == []
    assert_integrity(snapshot)
