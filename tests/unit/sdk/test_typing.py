"""A user's program is type-checked against the package: `py.typed`, and words of options as literals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from omnigraph.base import choices
from omnigraph.execution.engine import Engine
from omnigraph.execution.export.export import Format
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.sources.column_files import COLUMN_FORMATS
from omnigraph.graph.changes.model import ENTITY_KINDS, OPS
from omnigraph.graph.merge.classify import Strategy

SOURCE = Path(__file__).parents[3] / "src"
GOOD = """
import asyncio
import omnigraph as og

def read(graph: og.Graph) -> int:
    result: og.Result = graph.query("query q() { … }", {"n": 3}, engine="local")
    row = result.first()
    names: list[str] = [str(item["name"]) for item in result[:10]]
    graph.load("people.jsonl", mode="merge", on_error="quarantine", format="json")
    graph.branches.merge("topic", strategy="property")
    return len(names) if row is not None else result.scalar()

async def read_async(uri: str) -> int:
    async with await og.aopen(uri, actor="act-ada") as graph:
        found: og.Result = await graph.query("query q() { … }")
        rows = 0
        async for batch in await graph.stream("query q() { … }"):
            rows += batch.num_rows
        commit: og.Commit = (await graph.commits.list(limit=1))[0]
        text: str = await graph.schema.source
        return len(found) + rows + len(commit.id) + len(text)

asyncio.run(read_async("people"))
"""
BAD = """
import omnigraph as og

def read(graph: og.Graph) -> None:
    graph.query("q", engine="sprak")
    graph.load([], mode="apend")
    graph.branches.merge("b", strategy="mine")
    graph.query("q").frist()

async def read_async(graph: og.AsyncGraph) -> None:
    await graph.load([], mode="apend")
    n: int = graph.query("q")
"""


@pytest.mark.long
def test_a_small_program_passes_the_strictest_checks_and_misspelt_words_do_not(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "cache"),
        "good.py",
        "bad.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={"MYPYPATH": str(SOURCE)}, capture_output=True, text=True, check=False
    )
    lines = [
        line
        for line in done.stdout.splitlines()
        if line.startswith(("good.py", "bad.py")) and "error:" in line
    ]
    places = [line.split(":")[:2] for line in lines]
    wrong = [
        number
        for number, line in enumerate(BAD.splitlines(), 1)
        if any(word in line for word in ("sprak", "apend", "mine", "frist", "n: int"))
    ]
    assert places == [["bad.py", str(number)] for number in wrong], done.stdout


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "omnigraph" / "py.typed").exists()


def test_the_words_of_options_are_those_that_the_engine_takes() -> None:
    assert set(get_args(choices.ReadEngine)) == set(Engine)
    assert set(get_args(choices.LoadMode)) == set(get_args(Mode))
    assert set(get_args(choices.SourceFormat)) == {"json", *COLUMN_FORMATS}
    assert set(get_args(choices.ExportFormat)) == set(get_args(Format))
    assert set(get_args(choices.MergeStrategy)) == set(Strategy)
    assert get_args(choices.EntityKind) == ENTITY_KINDS
    assert get_args(choices.ChangeOp) == OPS
