"""`explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from omnigraph.cli.options import expand_options
from omnigraph.cli.output import print_json, print_text
from omnigraph.cli.query_arguments import QueryOptions
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of


@expand_options(QueryOptions)
def explain(
    context: typer.Context,
    *,
    options: QueryOptions,
    analyze: Annotated[bool, typer.Option("--analyze", help="Run it, and tell what each step did.")] = False,
    as_written: Annotated[
        bool, typer.Option("--as-written", help="Take the steps as they are written, not by their cost.")
    ] = False,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds that an analysis may take.")] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how a read query is carried out."""
    asked = options.query_arguments(takes_stored=True)
    with report_errors(as_json):
        graph = session_of(context).open(uri)
        if asked["gq"] is None:
            where = {"branch": asked["branch"], "snapshot": asked["snapshot"]}
            asked["gq"] = graph.queries.show(asked["name"], **where).text
        found = graph.explain(**asked, analyze=analyze, timeout=timeout, optimise=not as_written)
        print_json(found.to_json()) if as_json else print_text(str(found))
