"""The tutorial, and the commands of operators, are followed as a reader follows them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import omnigraph as og
from support.followed_page import follow

DOCS = Path(__file__).resolve().parents[2] / "docs"
BIN = Path(sys.executable).parent


@pytest.mark.long
def test_every_step_of_the_tutorial_does_what_the_page_says(tmp_path: Path) -> None:
    steps = list(follow(DOCS / "tutorial.md", tmp_path, BIN))
    assert len(steps) > 20
    assert [(step.block, step.printed) for step in steps if not step.holds] == []


@pytest.mark.long
def test_the_commands_of_operators_work_as_they_are_written(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", "node Person { name: String @key }")
    graph.mutate('query q() { insert Person { name: "ada" } }')
    printed = [step.printed for step in follow(DOCS / "operations.md", tmp_path, BIN)]
    assert len(printed) == 1
    assert "damage" not in printed[0].lower()
