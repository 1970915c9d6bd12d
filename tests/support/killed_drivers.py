"""Drivers of Spark that are killed at a failpoint: forks of one program, which starts Java only once.

They share its connection to Java, so none may die inside a call of Spark, as the driver of a stream does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping

_PROGRAM = """
import json, os, sys
from omnigraph.base import failpoints
from omnigraph.pipeline import session as started
from omnigraph.spark import session

spark = session("local[1]", config={"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"})
code, cases = json.load(sys.stdin)
for given in cases:  # nothing has used Lance here: a fork may
    child = os.fork()
    if child == 0:
        started._ours.java = None  # a child of the program: to its fork it seems to have ended
        failpoints.arm_all(given["failpoints"])
        exec(code, {"spark": spark, **given})
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def run_killed_drivers(
    code: str, cases: Iterable[Mapping[str, str]], environment: Mapping[str, str] | None = None
) -> list[int]:
    """Run code in a driver of its own for each case, with the case's values as names; return exit codes."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore:lance is not fork-safe", "-c", _PROGRAM],
        input=json.dumps([code, list(cases)]),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
        check=True,
        capture_output=True,
        text=True,
        timeout=560,
    )
    return [int(line) for line in done.stdout.split()]


def assert_all_killed(codes: Iterable[int]) -> None:
    """Every driver met its failpoint."""
    assert {*codes} == {-signal.SIGKILL}
