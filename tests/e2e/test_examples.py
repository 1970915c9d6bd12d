"""The examples and notebooks run, and what they show is so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og
from support.notebooks import run_notebook

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def run(name: str, folder: Path) -> str:
    """Run an example as its page says, and return what it prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(folder)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_an_agent_keeps_what_good_tasks_have_learned_and_nothing_else(tmp_path: Path) -> None:
    printed = run("agent_memory.py", tmp_path).splitlines()
    assert printed[:3] == [
        "the task knows 2 facts, the memory 0",
        "after it was kept the memory knows 2",
        "after a bad task it still knows 2",
    ]
    assert "'Billed in Swiss francs since May', 'f.confidence': 0.95" in printed[3]
    assert "  text is from agent-7: read in the contract" in printed
    assert "  confidence is from agent-7: read in a mail" in printed
    assert og.open(tmp_path / "memory").branches.list() == ["main"]


@pytest.mark.long
def test_a_company_is_asked_by_words_meaning_and_edges_at_once(tmp_path: Path) -> None:
    printed = run("company_graph.py", tmp_path)
    assert "ask: {'d.title': 'When invoices fail', 'p.name': 'Ann', 'team': 'Billing'" in printed
    assert "on the branch, without a document: [{'x.name': 'Ledger'}]" in printed
    assert "ask again: {'d.title': 'The ledger', 'p.name': 'Bea'" in printed
    assert "The ledger" not in printed.rpartition("and before:")[2]


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    shown = [value for value in run_notebook(path) if value is not None]
    assert sum(hasattr(value, "_repr_html_") for value in shown) >= 3
    assert shown[-1] == (0, 6335) or "title" in shown[-1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_what_they_printed(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
