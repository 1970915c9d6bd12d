"""`explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from omnigraph.cli.output import print_json, print_text
from omnigraph.cli.session import AsJson, UriOption, reported, session_of
from omnigraph.cli.texts import (
    Name,
    OptionalBranch,
    Params,
    ParamsFile,
    QueryFile,
    QueryText,
    SnapshotOption,
    one_place,
    query_params,
    query_text,
)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(explain)


def explain(
    context: typer.Context,
    name: Name = None,
    *,
    query: QueryFile = None,
    text: QueryText = None,
    params: Params = None,
    params_file: ParamsFile = None,
    analyze: Annotated[bool, typer.Option("--analyze", help="Run it, and tell what each step did.")] = False,
    as_written: Annotated[
        bool, typer.Option("--as-written", help="Take the steps as they are written, not by their cost.")
    ] = False,
    branch: OptionalBranch = None,
    snapshot: SnapshotOption = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how a read query is carried out."""
    one_place(branch, snapshot)
    given, values = query_text(query, text), query_params(params, params_file)
    with reported(as_json):
        found = (
            session_of(context)
            .open(uri)
            .explain(
                given,
                values,
                analyze,
                name=name,
                branch=branch,
                snapshot=snapshot,
                optimise=not as_written,
            )
        )
        print_json(found.to_json()) if as_json else print_text(str(found))
