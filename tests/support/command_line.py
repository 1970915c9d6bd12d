"""The command line, run in this process."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from omnigraph.cli.main import app


def run(*words: str) -> Result:
    """Run a command, with a screen that is wide enough for any table."""
    return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200"}).invoke(app, list(words))


def run_text(*words: str, code: int = 0) -> str:
    """Return what a command prints, which ends with a code."""
    done = run(*words)
    assert done.exit_code == code, done.output
    return done.output


def run_json(*words: str, code: int = 0) -> Any:
    """Return what a command prints as JSON, which ends with a code."""
    done = run(*words, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)
