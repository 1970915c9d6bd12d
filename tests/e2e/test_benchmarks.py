"""Every benchmark still runs; what it measures is for `make bench` to say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAMS = sorted(path.name for path in BENCHMARKS.glob("[a-z]*.py"))


def test_there_is_a_benchmark_of_commits() -> None:
    assert "commit.py" in PROGRAMS


@pytest.mark.long
@pytest.mark.s3
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_quick_run_prints_ratios(program: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / program), "--quick"],
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ratios = re.findall(r"\d\.\d", done.stdout)
    assert len(ratios) >= 3, done.stdout
    if program == "commit.py":
        assert done.stdout.count("met") + done.stdout.count("MISSED") >= 8, done.stdout
