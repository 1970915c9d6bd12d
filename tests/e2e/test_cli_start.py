"""What a call of the program imports: help, versions and completion come without the engine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.cli.commands import COMMANDS, GROUPS, load_command

ENGINE = {"lance", "pandas", "numpy", "pyarrow", "pyspark", "lark", "obstore", "datafusion", "httpx"}
_IMPORTED = re.compile(r"^import time: .*\| +([\w.]+)$", re.MULTILINE)


def imported_by(*words: str, **environment: str) -> tuple[set[str], str]:
    """Run the installed program; return the packages that its process imported, and what it said."""
    done = subprocess.run(
        [Path(sys.executable).with_name("omnigraph"), *words],
        env={**os.environ, **environment, "PYTHONPROFILEIMPORTTIME": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {name.partition(".")[0] for name in _IMPORTED.findall(done.stderr)}
    assert {"typer", "omnigraph"} <= found, "what a process imports is not told as it was"
    return found, done.stdout


@pytest.mark.parametrize("words", [(), *((name,) for name in (*COMMANDS, *GROUPS)), ("branch", "merge")])
def test_help_imports_no_engine(words: tuple[str, ...]) -> None:
    found, said = imported_by(*words, "--help")
    assert found & ENGINE == set()
    assert "Usage: omnigraph" in said


@pytest.mark.parametrize("word", ["--version", "-v", "version"])
def test_the_version_imports_no_engine_and_nothing_to_draw_or_convert(word: str) -> None:
    found, said = imported_by(word)
    assert found & (ENGINE | {"rich", "pydantic"}) == set()
    assert said.startswith(f"omnigraph {og.__version__}")


@pytest.mark.parametrize(
    ("typed", "at", "offered"),
    [
        ("omnigraph b", 1, "backup\nbackups\nbranch\n"),
        ("omnigraph branch re", 2, "restore\nrebase\n"),
        ("omnigraph query --par", 2, "--params\n--params-file\n"),
    ],
)
def test_completion_imports_no_engine(typed: str, at: int, offered: str) -> None:
    asked = {"_OMNIGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(at)}
    found, said = imported_by(**asked)
    assert found & ENGINE == set()
    assert said == offered


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    lines = {name: line for name, (_, line) in COMMANDS.items()} | GROUPS
    assert {name: load_command(name).help for name in lines} == lines
