"""Query texts, their parameters and the branch or snapshot to read, from the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.base.plain import read_json

Name = Annotated[
    str | None, typer.Argument(help="Which query of the text to run; without a text, a stored query.")
]
QueryFile = Annotated[Path | None, typer.Option("--query", help="A .gq file; - for standard input.")]
QueryText = Annotated[str | None, typer.Option("-e", help="The text of a query.")]
Params = Annotated[str | None, typer.Option(help="Parameters, as a JSON object.")]
ParamsFile = Annotated[Path | None, typer.Option(help="A file of parameters.")]
OptionalBranch = Annotated[str | None, typer.Option("--branch", "-b", help="A branch; main unless given.")]
TimestampOption = Annotated[
    str | None, typer.Option("--timestamp", help="A moment of the branch to read, in ISO 8601.")
]
SnapshotOption = Annotated[str | None, typer.Option("--snapshot", help="A commit of any branch, or a tag.")]


_QUERY_NAME = re.compile(r"^\s*query\s+(\w+)", re.MULTILINE)


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

    @property
    def place(self) -> str:
        """What is read, in words."""
        if self.snapshot:
            return f"snapshot {self.snapshot}"
        return f"branch {self.branch or 'main'}{f' at {self.timestamp}' if self.timestamp else ''}"

    def query_arguments(self, takes_stored: bool = False) -> dict[str, Any]:
        """Return the arguments of `Graph.query` and `Graph.explain`; without a text the query is stored."""
        if self.branch and self.snapshot:
            raise typer.BadParameter("give --branch or --snapshot, not both")
        params = query_params(self.params, self.params_file)
        text = query_text(self.query, self.text, self.name if takes_stored else None)
        where = {"branch": self.branch, "snapshot": self.snapshot}
        if self.timestamp is not None:
            if self.snapshot:
                raise typer.BadParameter("give --timestamp or --snapshot, not both")
            where = {"branch": None, "snapshot": f"{self.branch or ''}@{{{self.timestamp}}}"}
        return {"gq": text, "params": params, "name": self.name, **where}

    def query_name(self, text: str | None) -> str | None:
        """Return what the query is called: the only one of its text, if no name was given."""
        found = _QUERY_NAME.search(text or "")
        return self.name or (found[1] if found is not None else None)


def query_text(query: Path | None, text: str | None, stored: str | None = None) -> str | None:
    """Return the text that is given; None when it is stored in the graph under a name."""
    if query is None and text is None and stored is not None:
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
        return read_json(text) if text is not None else None
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"the parameters cannot be read as JSON: {error}") from error
