"""Lists of hidden rows lie in a folder of the process that reads, which goes however that has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og
from support.data_policies import SCHEMA, policy_text

_READ = """
import os, sys
import omnigraph as og
graph = og.open(sys.argv[1], actor="act-ada", policy=sys.argv[2])
assert len(graph.query("query q() { match { $p: Person } return { $p.name } }")) == 1
print(*[name for name in os.listdir(os.environ["TMPDIR"]) if "sight" in name], flush=True)
if sys.argv[3] == "cut off":
    os._exit(0)
"""


@pytest.mark.long
def test_what_a_worker_leaves_goes_with_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load(
        [{"type": "Person", "data": {"name": name, "region": name}} for name in ("eu", "us")], mode="append"
    )
    policy = policy_text('permit(principal, action, resource) when { resource.region == "eu" };', [])

    def read(how: str) -> list[str]:
        said = subprocess.run(
            [sys.executable, "-c", _READ, graph.uri, policy, how],
            env={**os.environ, "TMPDIR": str(folder)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        return said.split()

    # Workers of Spark end so: nothing that was to run at their exit runs.
    (left,) = read("cut off")
    assert [path.name for path in folder.glob("*sight*")] == [left]
    (own,) = read("to the end")
    assert own != left and not list(folder.glob("*sight*"))
