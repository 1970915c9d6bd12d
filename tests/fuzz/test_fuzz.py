"""A short run of every fuzz target; `run.py` runs one for as long as wanted."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fuzz.json_mutator import mutate_json
from fuzz.targets import ALLOWED, CORPUS, TARGETS

RUN = Path(__file__).parent / "run.py"
MUTATIONS = 1_000
GUIDED = [name for name, target in TARGETS.items() if not target.is_json]


@pytest.mark.parametrize("name", TARGETS)
def test_what_earlier_runs_have_kept_is_read_or_refused(name: str) -> None:
    target = TARGETS[name]
    for data in (*target.seeds(), *(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))):
        with suppress(*ALLOWED):
            target.read(data)


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - GUIDED))
def test_other_json_in_a_stored_object_is_read_or_refused(name: str) -> None:
    target, chance = TARGETS[name], random.Random(name)
    seeds = list(target.seeds())
    assert seeds, "a small graph stores none"
    for number in range(MUTATIONS):
        data = mutate_json(chance.choice(seeds), 100_000, number, lambda data, size: data[:size][::-1])
        with suppress(*ALLOWED):
            target.read(data)


@pytest.mark.parametrize("name", sorted(name for name, target in TARGETS.items() if target.is_json))
def test_json_that_is_nested_without_an_end_or_has_numbers_without_one_is_refused(name: str) -> None:
    others = ("[" * 200_000, "Infinity", "-1e999", "NaN", "null", "[]", "{}", "1")
    for seed in TARGETS[name].seeds():
        text = seed.decode()
        for match in re.finditer(r'[:\[,]\s*(\d+|"[^"]*"|\[\]|\{\})', text):
            for other in others:
                with suppress(*ALLOWED):
                    TARGETS[name].read(f"{text[: match.start(1)]}{other}{text[match.end(1) :]}".encode())


def test_a_run_that_coverage_guides_finds_nothing_in_any_target(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, str(RUN), ",".join(GUIDED)),
            *("-runs=1000", "-seed=7", f"-artifact_prefix={tmp_path}/"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    assert done.stderr.count("Done 1000 runs") == len(GUIDED)
