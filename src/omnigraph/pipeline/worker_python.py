"""The Python of a session's workers: that it lacks OmniGraph is told before they need it, in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

from omnigraph.base.errors import SparkFailed
from omnigraph.execution.spark.remote import is_remote

_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('omnigraph') is None)"
_TIMEOUT_SECONDS = 30


def require_worker_python(spark: Any) -> None:
    """Refuse a session of this machine whose workers have no OmniGraph; of others nothing is known."""
    if is_remote(spark) or not str(spark.sparkContext.master).startswith("local"):
        return
    context = spark.sparkContext
    path = str(context.getConf().get("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", "")))
    if context.pythonExec != sys.executable and not _has_package(str(context.pythonExec), path):
        raise SparkFailed(
            f"the workers of this session run {context.pythonExec!r}, which has no OmniGraph: set "
            f"PYSPARK_PYTHON={sys.executable} before the session is made, or use omnigraph.spark.session()",
            python=context.pythonExec,
        )


@cache
def _has_package(python: str, path: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", _LOOK],
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
            env={**os.environ, "PYTHONPATH": path},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
