"""Query texts, their parameters and the branch or snapshot to read, from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

Name = Annotated[str | None, typer.Argument(help="Which query of the text to run; alone, a stored query.")]
QueryFile = Annotated[Path | None, typer.Option("--query", help="A .gq file; - for standard input.")]
QueryText = Annotated[str | None, typer.Option("-e", help="The text of a query.")]
Params = Annotated[str | None, typer.Option(help="Parameters, as a JSON object.")]
ParamsFile = Annotated[Path | None, typer.Option(help="A file of parameters.")]
OptionalBranch = Annotated[str | None, typer.Option("--branch", "-b", help="A branch; main unless given.")]
TimestampOption = Annotated[
    str | None, typer.Option("--timestamp", help="A moment of the branch to read, in ISO 8601.")
]
SnapshotOption = Annotated[str | None, typer.Option("--snapshot", help="A commit of any branch, or a tag.")]


@dataclass(frozen=True)
class QueryOptions:
    """A read query, its parameters and the branch or snapshot to read."""

    name: Name = None
    query: QueryFile = None
    text: QueryText = None
    params: Params = None
    params_file: ParamsFile = None
    branch: OptionalBranch = None
    snapshot: SnapshotOption = None
    timestamp: TimestampOption = None

    def query_arguments(self) -> dict[str, Any]:
        """Return the arguments of `Graph.query` and `Graph.explain`; no text for a stored query."""
        if self.branch and self.snapshot:
            raise typer.BadParameter("give --branch or --snapshot, not both")
        text, params = (
            query_text(self.query, self.text, self.name),
            query_params(self.params, self.params_file),
        )
        where = {"branch": self.branch, "snapshot": self.snapshot}
        if self.timestamp is not None:
            if self.snapshot:
                raise typer.BadParameter("give --timestamp or --snapshot, not both")
            where = {"branch": None, "snapshot": f"{self.branch or ''}@{{{self.timestamp}}}"}
        return {"gq": text, "params": params, "name": self.name, **where}


def query_text(query: Path | None, text: str | None, name: str | None) -> str | None:
    """Return the text that was given; None for a name alone, which is that of a stored query."""
    if query is None and text is None and name is not None:
        return None
    if (query is None) == (text is None):
        raise typer.BadParameter("give the query once: --query FILE, -e TEXT, or the name of a stored one")
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
