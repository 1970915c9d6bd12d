"""What a call of the program imports: help, versions and completion come without the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.cli.commands import COMMANDS, GROUPS, load_command

ENGINE = {"lance", "pandas", "numpy", "pyarrow", "pyspark", "lark", "obstore", "datafusion", "httpx", "mcp"}
PROGRAM = """
import atexit, sys
atexit.register(lambda: print("imported", *sys.modules, file=sys.stderr))
from omnigraph.cli.main import run
sys.argv[0] = "omnigraph"
run()
"""
"""What the installed program does; at its end it says what it has imported."""


def imported_by(*words: str, **environment: str) -> tuple[set[str], str]:
    """Run the program; return the packages that its process imported, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    modules = done.stderr.rpartition("imported ")[2]
    found = {name.partition(".")[0] for name in modules.split()}
    assert {"typer", "omnigraph"} <= found
    return found, done.stdout


@pytest.mark.parametrize("words", [(), *((name,) for name in (*COMMANDS, *GROUPS)), ("branch", "merge")])
def test_help_imports_no_engine(words: tuple[str, ...]) -> None:
    found, said = imported_by(*words, "--help")
    assert found & ENGINE == set()
    assert "Usage" in said


@pytest.mark.parametrize("word", ["--version", "-v", "version"])
def test_the_version_imports_no_engine_and_nothing_to_draw_or_convert(word: str) -> None:
    found, said = imported_by(word)
    assert found & (ENGINE | {"rich", "pydantic"}) == set()
    assert said.startswith(f"omnigraph {og.__version__}")


@pytest.mark.parametrize(
    ("typed", "at", "offered"),
    [
        ("omnigraph b", 1, "backup\nbackups\nbranch\nblob\n"),
        ("omnigraph branch re", 2, "restore\nrename\nreset\nrebase\n"),
        ("omnigraph query --par", 2, "--params\n--params-file\n"),
    ],
)
def test_completion_imports_no_engine(typed: str, at: int, offered: str) -> None:
    asked = {"_OMNIGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(at)}
    found, said = imported_by(**asked)
    assert found & ENGINE == set()
    assert said == offered


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(
        tmp_path_factory.mktemp("start") / "graph", "node Person { name: String @key  age: I32? }"
    )
    graph.load([{"type": "Person", "data": {"name": "ada", "age": 36}}], mode="append")
    return graph


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("query", "-e", "query q() { match { $p: Person } return { $p.age } }"), "p.age\n36\n"),
        (
            ("mutate", "-e", 'query q() { update Person set { age: 36 } where name = "ada" }'),
            "1 node, 0 edges",
        ),
    ],
)
def test_a_command_in_process_imports_neither_pandas_nor_spark(
    graph: og.Graph, words: tuple[str, ...], said: str
) -> None:
    found, told = imported_by("--store", graph.uri, *words)
    assert "lance" in found
    assert found & {"pandas", "pyspark", "datafusion", "httpx", "rich", "pydantic"} == set()
    assert told.startswith(said)


PANDAS_LATER = """
import sys
from omnigraph.cli.arrow import import_without_pandas
import_without_pandas()
import pyarrow as pa
pa.array([1.5, None])
assert "pandas" not in sys.modules
import pandas as pd
assert pa.table({"a": [1]}).to_pandas().a[0] == 1
assert pa.Table.from_pandas(pd.DataFrame({"a": [2]})).to_pydict() == {"a": [2]}
"""


def test_arrow_does_without_pandas_until_somebody_wants_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PANDAS_LATER], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_load_has_pandas_for_what_others_store_in_tables(graph: og.Graph, tmp_path: Path) -> None:
    """Such as moments in nanoseconds, which Python has no value for."""
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"name": ["bo"], "age": [7]}), rows)
    words = ("load", graph.uri, "--data", str(rows), "--type", "Person", "--mode", "append")
    assert "pandas" in imported_by(*words)[0]


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    lines = {name: line for name, (_, line) in COMMANDS.items()} | GROUPS
    assert {name: load_command(name).help for name in lines} == lines
