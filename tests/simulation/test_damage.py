"""Damaged files of tables: a read is right or a typed error, never wrong or the end of the process.

A short run is part of every test run; `OMNIGRAPH_DAMAGES=350` makes so many, and `OMNIGRAPH_DAMAGE_SEED`
chooses which.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.damage import damage, make_varied, needed
from support.workers import Worker, Workers

DAMAGES = int(os.environ.get("OMNIGRAPH_DAMAGES", "40"))
SEED = int(os.environ.get("OMNIGRAPH_DAMAGE_SEED", "0"))


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("varied") / "graph"
    make_varied(root)
    return root


def test_no_damage_gives_a_wrong_answer_and_a_scrub_names_all_that_matters(
    varied: Path, tmp_path: Path, workers: Workers
) -> None:
    worker = workers.take()
    right = worker.ask("read_everything", str(varied))
    assert {kind for kind, _ in right.values()} == {"answer"}, right
    assert {code for code, _ in worker.ask("scrub", str(varied))} == {"files_unused"}
    matters = needed(varied)
    seen: Counter[str] = Counter()
    for number in range(SEED, SEED + DAMAGES):
        root = tmp_path / f"copy-{number}"
        shutil.copytree(varied, root)
        how, touched = damage(random.Random(number), root)
        said = f"seed {number}: {how} of {touched}"
        for name, (kind, answer) in _asked(worker, "read_everything", root, said).items():
            assert kind != "untyped", f"{said}: {name} raised {answer}"
            assert kind == "error" or answer == right[name][1], f"{said}: {name} is wrong"
            seen[kind] += 1
        named = {where for _, where in _asked(worker, "scrub", root, said)}
        assert matters.intersection(touched) <= named, f"{said}: only {named} are named"
        seen["damaged"] += bool(touched)
        shutil.rmtree(root)
    print(dict(seen))


def _asked(worker: Worker, task: str, root: Path, said: str) -> Any:
    try:
        return worker.ask(task, str(root))
    except EOFError:
        raise AssertionError(f"{said}: {task} ended the process") from None
