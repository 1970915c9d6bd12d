"""Real processes on one graph, killed and stopped at random: all that was acknowledged is there, once."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jepsen.checker import check, report
from jepsen.driver import Plan, run
from jepsen.history import History, read_history
from support.s3 import S3

_SECONDS = float(os.environ.get("OMNIGRAPH_JEPSEN_SECONDS", "12"))
_SEED = int(os.environ.get("OMNIGRAPH_JEPSEN_SEED", "1"))
_ROUND_SECONDS = 60.0
"""A long run is several rounds, each on a graph of its own with the next seed: reads stay cheap."""


def rounds(seconds: float, seed: int) -> list[tuple[int, float]]:
    """Return the seeds and lengths of the rounds of a run."""
    count = max(1, round(seconds / _ROUND_SECONDS))
    return [(seed + number, seconds / count) for number in range(count)]


def play(seed: int, seconds: float, uri: str | None = None, **more: Any) -> None:
    """Run once and check; a failure leaves the logs and the graph behind, and says where."""
    folder = Path(tempfile.mkdtemp(prefix=f"omnigraph-jepsen-{seed}-"))
    plan = Plan(seed, seconds, uri or str(folder / "root"), folder, **more)
    print("seed", seed, "seconds", seconds, "folder", folder)
    observed = run(plan)
    history = read_history(folder)
    print(told(history))
    anomalies = check(history, observed)
    if anomalies:
        pytest.fail(
            f"seed {seed}: logs and a copy of the graph are in {folder}\n"
            f"again: OMNIGRAPH_JEPSEN_SEED={seed} OMNIGRAPH_JEPSEN_SECONDS={seconds:g} pytest tests/jepsen\n"
            f"{report(anomalies)}",
            pytrace=False,
        )
    assert any(op.outcome == "ok" for op in history.of("append")), "nothing was done"
    shutil.rmtree(folder)


def told(history: History) -> str:
    """Return how often each operation ended how."""
    ends: dict[str, Counter[str]] = {}
    for op in history.ops:
        ends.setdefault(op.kind, Counter())[op.code or op.outcome] += 1
    faults = Counter(str(fault["is"]) for fault in history.faults)
    lines = [f"{kind}: {dict(found)}" for kind, found in sorted(ends.items())]
    return "\n".join([f"faults: {dict(faults)}", *lines])


@pytest.mark.long
@pytest.mark.timeout(_SECONDS * 3 + 600)
def test_nothing_acknowledged_is_lost_doubled_or_torn_on_disk() -> None:
    for seed, seconds in rounds(_SECONDS, _SEED):
        play(seed, seconds)


@pytest.mark.long
@pytest.mark.s3
@pytest.mark.timeout(_SECONDS * 3 + 600)
def test_nothing_acknowledged_is_lost_doubled_or_torn_over_s3(s3: S3) -> None:
    for seed, seconds in rounds(_SECONDS, _SEED):
        bucket = s3.fresh()
        # Requests take longer than system calls: whoever is replaced must have time to do something.
        play(seed, seconds, f"{bucket.uri}/graph", options=bucket.options, clients=3, faults_a_second=0.6)
