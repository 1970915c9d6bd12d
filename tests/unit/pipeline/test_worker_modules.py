"""Garbage collection after each task of Spark leaves alone what its Python worker has loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNT = """
import gc, sys
from importlib.machinery import ModuleSpec

sys.modules["__main__"].__spec__ = ModuleSpec({main!r}, None)
import omnigraph.pipeline.{module}

print(gc.get_freeze_count())
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("main", "module", "least"),
    [
        ("pyspark.daemon", "datasource", 50_000),
        ("pyspark.daemon", "sql.source", 50_000),
        ("pyspark.daemon", "workers.read", 50_000),
        ("program", "sql.source", 0),
    ],
)
def test_modules_are_frozen_in_a_worker_and_nowhere_else(main: str, module: str, least: int) -> None:
    code = COUNT.format(main=main, module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (int(done.stdout) >= least) if least else int(done.stdout) < 1000
