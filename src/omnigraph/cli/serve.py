"""`omnigraph serve`: graphs over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.output import print_note, print_text
from omnigraph.cli.session import report_errors


def serve(
    uris: Annotated[list[str] | None, typer.Argument(help="Addresses of graphs.", metavar="[URI]...")] = None,
    graph: Annotated[list[str] | None, typer.Option("--graph", help="A graph as NAME=URI.")] = None,
    bind: Annotated[
        str, typer.Option("--bind", help="Address and port; port 0 takes a free one.")
    ] = "127.0.0.1:8080",
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many processes serve.")] = 1,
    token_file: Annotated[
        str | None,
        typer.Option("--token-file", help="A token, or a JSON object of actors and their tokens."),
    ] = None,
    unauthenticated: Annotated[
        bool, typer.Option("--unauthenticated", help="Let everybody in; commits then name no actor.")
    ] = False,
    state: Annotated[
        str | None, typer.Option("--state", help="The folder of jobs; by default one of the user's.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", help="A folder or s3:// prefix that jobs may use.", metavar="PREFIX"),
    ] = None,
) -> None:
    """Serve graphs over HTTP until it is stopped."""
    with report_errors(as_json=False):
        try:
            from omnigraph.server.graphs import name_of
            from omnigraph.server.run import ServeRequest, serve
        except ModuleNotFoundError as error:
            raise BadInput(
                f"the server needs the package {error.name}: pip install 'omnigraph[server]'"
            ) from error
        if unauthenticated == (token_file is not None):
            raise typer.BadParameter(
                "say who may call: give --token-file, or --unauthenticated for everybody"
            )
        named: dict[str, str] = {}
        for name, uri in [*((name_of(uri), uri) for uri in uris or ()), *map(_read_name, graph or ())]:
            if name in named:
                raise typer.BadParameter(f"two graphs are called {name!r}: name one with --graph NAME=URI")
            named[name] = uri
        if not named:
            raise typer.BadParameter("which graphs? Give their addresses, or --graph NAME=URI")
        if unauthenticated:
            print_note("everybody who can reach this address may read and write")
        serve(
            ServeRequest(named, bind, workers, token_file, state, tuple(allow or ())),
            lambda address: print_text(f"OMNIGRAPH_LISTEN_ADDR={address}"),
        )


def _read_name(given: str) -> tuple[str, str]:
    name, sign, uri = given.partition("=")
    if not sign or not name or not uri:
        raise typer.BadParameter(f"--graph is {given!r}: give NAME=URI")
    return name, uri
