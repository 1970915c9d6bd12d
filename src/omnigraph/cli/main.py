"""The `omnigraph` command and its global options."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

import omnigraph
from omnigraph.cli.commands import Commands
from omnigraph.cli.config.flags import AddressFlags
from omnigraph.cli.output import print_text
from omnigraph.cli.session import Session
from omnigraph.graph.manifest.format import CURRENT

app = typer.Typer(
    name="omnigraph",
    cls=Commands,
    help="A typed property graph, versioned, branched and merged like a Git repository.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_text(f"omnigraph {omnigraph.__version__} (storage format {CURRENT})")
        raise typer.Exit()


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[str | None, typer.Option(help="Where the graph is stored.")] = None,
    server: Annotated[str | None, typer.Option(help="The server that has it: a name or http(s)://.")] = None,
    graph: Annotated[str | None, typer.Option(help="Its name at the server or in the cluster.")] = None,
    profile: Annotated[str | None, typer.Option(help="A profile that says where it is.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The cluster that it is stored in.")] = None,
    actor: Annotated[str | None, typer.Option("--as", help="Who is acting; recorded in commits.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before removing what others share.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only results.")] = False,
    version: Annotated[
        bool, typer.Option("--version", "-v", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take the flags of every command, which may also be typed after it."""
    context.obj = Session(AddressFlags(store, server, graph, profile, cluster), actor, quiet, yes)


def run() -> None:
    """Run the command line."""
    # What is imported stays: to look for garbage in it, now and at the end, took a third of a short query.
    gc.set_threshold(50_000)
    try:
        app()
    finally:
        gc.freeze()
