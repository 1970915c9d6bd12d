"""Damaged files: a read is right or a typed error, never wrong or the end of the process.

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

from support.damage import CONTROL, TABLES, control_objects, damage, make_varied, needed
from support.workers import Worker, Workers

DAMAGES = int(os.environ.get("OMNIGRAPH_DAMAGES", "24"))
SEED = int(os.environ.get("OMNIGRAPH_DAMAGE_SEED", "0"))


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("varied") / "graph"
    make_varied(root)
    return root


@pytest.mark.parametrize("kinds", [TABLES, (CONTROL,)], ids=["tables", "control"])
def test_no_damage_gives_a_wrong_answer_and_a_scrub_names_all_that_matters(
    varied: Path, tmp_path: Path, workers: Workers, kinds: tuple[str, ...]
) -> None:
    worker = workers.take()
    right = worker.ask("read_everything", str(varied))
    assert {kind for kind, _ in right.values()} == {"answer"}, right
    assert {code for code, _ in worker.ask("scrub", str(varied))} == {"files_unused"}
    matters = needed(varied) | control_objects(varied)
    seen: Counter[str] = Counter()
    for number in range(SEED, SEED + DAMAGES):
        root = tmp_path / f"copy-{number}"
        shutil.copytree(varied, root)
        how, touched = damage(random.Random(number), root, *kinds)
        said = f"seed {number}: {how} of {touched}"
        for name, (kind, answer) in _asked(worker, "read_everything", root, said).items():
            assert kind != "untyped", f"{said}: {name} raised {answer}"
            assert kind == "error" or answer == right[name][1], f"{said}: {name} is wrong"
            seen[kind] += 1
        found = _asked(worker, "scrub", root, said)
        named = {where for _, where in found}
        if how == "delete" and kinds == (CONTROL,):
            assert _is_told(touched[0], found), f"{said}: only {found} is told"
        elif "__manifest/graph.json" in touched:
            assert "__manifest/graph.json" in named, f"{said}: {found}"  # nothing can be opened to look on
        else:
            assert matters.intersection(touched) <= named, f"{said}: only {named} are named"
        seen["damaged"] += bool(touched)
        shutil.rmtree(root)
    print(dict(seen))


def _is_told(path: str, found: list[tuple[str, str]]) -> bool:
    """Say whether the loss of a whole control object is told, by what it leaves behind."""
    codes, named = {code for code, _ in found}, {where for _, where in found}
    if path.startswith("__manifest/branches/"):
        return bool(codes & {"branch_lost", "ref_lost"})  # by its chain, or the note of its name
    if path.startswith(tuple(f"__manifest/{kind}/" for kind in ("tags", "names", "hints", "proposals"))):
        return True  # what others name is gone like what never was, and a hint is only one
    return path in named


def _asked(worker: Worker, task: str, root: Path, said: str) -> Any:
    try:
        return worker.ask(task, str(root))
    except EOFError:
        raise AssertionError(f"{said}: {task} ended the process") from None
