"""What an installation without extras can do, and what it says of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

EXTRAS = ("pyspark", "py4j", "pandas", "polars", "fastapi", "uvicorn")

PROGRAM = """
import sys

import omnigraph as og
from omnigraph.cli.main import run

graph = og.init("people", "node Person { name: String @key  age: I32? } edge Knows: Person -> Person")
graph.load([{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")], mode="merge")
graph.mutate('query q() { insert Knows { from: "ada", to: "bob" } }')
graph.branches.create("review")
graph.branches.merge("review")
graph.optimize()
graph.cleanup()
graph.export("people.ndjson")
found = graph.query("query q() { match { $p: Person  $p knows $f } return { $f.name } }")
print(found.rows, found.to_arrow().num_rows, graph.repair().findings == ())
ALL = "query q() { match { $p: Person } return { $p.name } }"


def tell(what):
    try:
        what()
    except og.OmniError as error:
        print(error.code, "|", error.message)


tell(found.to_pandas)
tell(found.to_polars)
tell(lambda: graph.query(ALL, engine="spark").rows)
tell(lambda: __import__("omnigraph.spark").spark.session())
sys.argv = ["omnigraph", "serve", "people", "--unauthenticated"]
run()
"""


def test_an_installation_without_extras_works_and_says_what_the_rest_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{link_packages(tmp_path)}{os.pathsep}{SOURCE}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    told = done.stdout.splitlines()
    assert told[0].startswith("[{'f.name': 'bob'}] 1"), done.stderr
    assert told[1:] == [
        "bad_input | a pandas data frame needs the package pandas: pip install 'omnigraph[pandas]'",
        "bad_input | a polars data frame needs the package polars: pip install polars",
        *[f"spark_missing | {NO_SPARK}: pip install 'omnigraph[spark]'"] * 2,
    ]
    assert "pip install 'omnigraph[server]'" in done.stderr


def link_packages(folder: Path) -> Path:
    """Return a folder with the installed packages, without those of the extras."""
    links = folder / "packages"
    links.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.name.split("-")[0].lower() not in EXTRAS:
            (links / path.name).symlink_to(path)
    return links


SOURCE = Path(__file__).resolve().parents[2] / "src"
NO_SPARK = "engine 'spark' is not available here: the package pyspark is not installed"
