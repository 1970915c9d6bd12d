"""`graphs list`."""

from __future__ import annotations

import typer

from omnigraph.cli.output import print_json, print_text
from omnigraph.cli.session import AsJson, report_errors, session_of

app = typer.Typer(help="Look at the graphs of a server.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_graphs(context: typer.Context, as_json: AsJson = False) -> None:
    """List the graphs that a server has, by name."""
    from omnigraph.cli.config.addresses import choose_place, list_served, server_address

    session = session_of(context)
    with report_errors(as_json):
        place = choose_place(session.flags, lambda: session.configuration)
        if place is None or place.server is None:
            raise typer.BadParameter("which server? Give --server, or a profile of one")
        address = server_address(place.server, session.configuration)
        names = list_served(place.server, session.configuration)
        if as_json:
            print_json({"server": address, "graphs": names})
        elif names:
            print_text("\n".join(names))
