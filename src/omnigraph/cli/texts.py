"""Query texts, their parameters and where they are asked, as they are given on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

Name = Annotated[str | None, typer.Argument(help="Which query of the text to run.")]
QueryFile = Annotated[Path | None, typer.Option("--query", help="A .gq file; - for standard input.")]
QueryText = Annotated[str | None, typer.Option("-e", help="The text of a query.")]
Params = Annotated[str | None, typer.Option(help="Parameters, as a JSON object.")]
ParamsFile = Annotated[Path | None, typer.Option(help="A file of parameters.")]
OptionalBranch = Annotated[str | None, typer.Option("--branch", "-b", help="A branch; main unless given.")]
SnapshotOption = Annotated[str | None, typer.Option("--snapshot", help="A commit of any branch, or a tag.")]


def query_text(query: Path | None, text: str | None) -> str:
    if (query is None) == (text is None):
        raise typer.BadParameter("give the query once: either --query FILE or -e TEXT")
    if text is not None:
        return text
    assert query is not None
    try:
        return sys.stdin.read() if str(query) == "-" else query.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{query} cannot be read: {error}") from error


def query_params(params: str | None, file: Path | None) -> Mapping[str, Any] | None:
    if params is not None and file is not None:
        raise typer.BadParameter("give the parameters once: either --params or --params-file")
    try:
        text = file.read_text(encoding="utf-8") if file is not None else params
        return json.loads(text) if text is not None else None
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"the parameters cannot be read as JSON: {error}") from error


def one_place(branch: str | None, snapshot: str | None) -> None:
    """Refuse a branch together with a snapshot."""
    if branch and snapshot:
        raise typer.BadParameter("give --branch or --snapshot, not both")
