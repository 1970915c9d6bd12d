"""Servers of Spark as processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark

from omnigraph.base import clock

_SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def start_server(log: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start a class of Spark in a process group of its own; what it says goes to a file."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as file:
        return subprocess.Popen(
            [str(_SPARK_CLASS), *command],
            stdout=file,
            stderr=file,
            env=environment,
            start_new_session=True,
        )


def wait_for(log: Path, pattern: str, seconds: float = 120.0) -> str:
    """Return what a server says first that fits a pattern."""
    wall = clock.Clock()
    deadline = wall.monotonic() + seconds
    while not (found := re.search(pattern, log.read_text(errors="replace"))):
        assert wall.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        wall.sleep(0.1)
    return found[0]
