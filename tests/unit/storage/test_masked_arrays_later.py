"""A first query imports no masked arrays, and whoever uses them finds them as they always were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_first_query_imports_no_masked_arrays(tmp_path: Path) -> None:
    code = f"""
import sys
import omnigraph as og

graph = og.init({str(tmp_path / "g")!r}, "node P {{ uid: I64 @key  n: I32? }}\\nedge E: P -> P")
graph.mutate('query q() {{ insert P {{ uid: 1, n: 4 }} insert E {{ from: "1", to: "1" }} }}')
graph = og.open({str(tmp_path / "g")!r})
asked = "query q($i: I64) {{ match {{ $p: P {{ uid: $i }} $p e $r }} return {{ $r.uid, $r.n }} }}"
print(graph.query(asked, {{"i": 1}}).rows)
print("numpy.ma" in sys.modules)
"""
    assert run(code).splitlines() == ["[{'r.uid': 1, 'r.n': 4}]", "False"]


def test_masked_arrays_are_masked_all_the_same() -> None:
    code = """
import sys
import numpy as np
import omnigraph.storage.tables
import pyarrow as pa

print(pa.array(np.array([1, 2])).to_pylist(), isinstance(np.array([1]), np.ma.MaskedArray))
print(issubclass(int, np.ma.MaskedArray), "numpy.ma" in sys.modules)
early, Array = np.ma, np.ma.MaskedArray
class Own(Array): pass
masked = np.ma.masked_array([1, 2], mask=[False, True])
print(pa.array(masked).to_pylist(), np.ma.isMaskedArray(masked), np.ma.isMaskedArray(np.array([1])))
from numpy import ma
import numpy.ma
print(isinstance(masked, Array), Array([1]).tolist(), Own.__mro__[1].__name__, early.masked is np.ma.masked)
print(ma.MaskedArray is numpy.ma.MaskedArray, isinstance(masked, np.ma.MaskedArray), type(np.ma).__name__)
"""
    assert run(code).splitlines() == [
        "[1, 2] False",
        "False False",
        "[1, None] True False",
        "True [1] MaskedArray True",
        "True True module",
    ]
