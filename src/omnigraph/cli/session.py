"""What all commands share: the global options, and exit codes of errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

import omnigraph as og
from omnigraph.cli.arrow import import_without_pandas
from omnigraph.cli.output import print_error, print_note

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_REJECTED = 3
EXIT_PRECONDITION = 4

Uri = Annotated[
    str | None, typer.Argument(help="Where the graph is: a path, file:// or s3://.", metavar="[URI]")
]
UriOption = Annotated[str | None, typer.Option("--uri", help="Where the graph is: a path, file:// or s3://.")]
Branch = Annotated[str, typer.Option("--branch", "-b", help="The branch to look at.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(frozen=True, slots=True)
class Session:
    """The global options."""

    store: str | None = None
    actor: str | None = None
    quiet: bool = False
    yes: bool = False

    def address(self, uri: str | None) -> str:
        """Return the graph's address, given with the command or before it."""
        if uri and self.store:
            raise typer.BadParameter("give the address once: either here or as --store")
        found = uri or self.store
        if not found:
            raise typer.BadParameter("which graph? Give its address (a path, file:// or s3://) or --store")
        if found.startswith(("http://", "https://")):
            raise typer.BadParameter(f"{found} is a server: this command works on storage")
        return found

    def open(
        self,
        uri: str | None,
        branch: str = "main",
        read_only: bool = True,
        announce: bool = True,
        takes_tables: bool = False,
        rescue: bool = False,
    ) -> og.Graph:
        """Open the graph that the command is about; a write says on standard error what it writes to.

        A command that needs no head says `rescue`: it works though the newest commit is damaged.
        Only the tables that a command takes from users may have values that Arrow needs pandas for.
        """
        address = self.address(uri)
        if not takes_tables:
            import_without_pandas()
        graph = og.open(address, branch=branch, read_only=read_only, rescue=rescue, actor=self.actor)
        if announce and not read_only and not self.quiet:
            print_note(f"writing to {graph.uri}")
        return graph


def session_of(context: typer.Context) -> Session:
    """Return the global options of a running command."""
    found = context.find_object(Session)
    return found if found is not None else Session()


@contextmanager
def report_errors(as_json: bool) -> Iterator[None]:
    """Turn an OmniError into a message and an exit code."""
    try:
        yield
    except og.OmniError as error:
        print_error(error, as_json)
        failed = EXIT_PRECONDITION if isinstance(error, og.PreconditionFailed) else EXIT_FAILED
        raise typer.Exit(failed) from error
