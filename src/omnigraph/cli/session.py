"""What all commands share: the address of the graph, who is acting, and exit codes of errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.arrow import import_without_pandas
from omnigraph.cli.config.flags import AddressFlags
from omnigraph.cli.output import print_error, print_note

if TYPE_CHECKING:
    from omnigraph.cli.config.addresses import GraphAddress
    from omnigraph.cli.config.configuration import Configuration

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_REJECTED = 3
EXIT_PRECONDITION = 4

Uri = Annotated[
    str | None, typer.Argument(help="Where the graph is stored: a path, file:// or s3://.", metavar="[URI]")
]
UriOption = Annotated[str | None, typer.Option("--uri", hidden=True, help="The same as --store.")]
Branch = Annotated[str, typer.Option("--branch", "-b", help="The branch to look at.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(slots=True)
class _Read:
    """The user's configuration, once it was read."""

    found: Configuration | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What was typed that is the same for every command, before the command or after it."""

    flags: AddressFlags = field(default_factory=AddressFlags)
    actor: str | None = None
    quiet: bool = False
    yes: bool = False
    read: _Read = field(default_factory=_Read)

    @property
    def configuration(self) -> Configuration:
        """The user's configuration."""
        from omnigraph.cli.config.configuration import read_configuration

        if self.read.found is None:
            self.read.found = read_configuration(self._warn)
        return self.read.found

    def _warn(self, text: str) -> None:
        if not self.quiet:
            print_note(f"warning: {text}")

    def at(self, flags: AddressFlags) -> Session:
        """Return the same session, about another graph."""
        return replace(self, flags=flags)

    def target(self, uri: str | None = None) -> GraphAddress:
        """Return the graph that the command is about."""
        from omnigraph.cli.config.addresses import choose_target, is_web

        flags = self.flags
        if uri is not None:
            if flags.store or flags.server or flags.cluster:
                raise typer.BadParameter("give the address once: either here or as a flag")
            if is_web(uri):
                raise typer.BadParameter(f"{uri} is a server: give it as --server")
            flags = replace(flags, store=uri)
        return choose_target(flags, lambda: self.configuration)

    def address(self, uri: str | None) -> str:
        """Return where the graph is stored; a command that calls this works on storage only."""
        target = self.target(uri)
        if target.is_served:
            raise typer.BadParameter(
                f"this command needs the storage of a graph, and {target.uri} is a server: give --store"
            )
        return target.uri

    @property
    def acting(self) -> str | None:
        """Who writes to storage: --as, or the operator of the configuration."""
        return self.actor or self.configuration.actor

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
        target = self.target(uri)
        if not takes_tables:
            import_without_pandas()
        if target.is_served:
            if self.actor is not None:
                raise typer.BadParameter("--as: a server knows who is acting from the token")
            graph = og.open(target.uri, branch=branch, token=target.token)
        else:
            actor = None if read_only else self.acting
            graph = og.open(target.uri, branch=branch, read_only=read_only, rescue=rescue, actor=actor)
        if announce and not read_only and not self.quiet:
            print_note(f"writing to {graph.uri}")
        return graph

    def require_consent(self, uri: str | None, what: str) -> None:
        """Ask before something that others may miss; where nobody can be asked, --yes must be given."""
        target = self.target(uri)
        if target.is_local or self.yes:
            return
        if sys.stdin.isatty() and typer.confirm(f"{what} of {target.uri}?", err=True):
            return
        print_note(f"{target.uri} is not local: add --yes to {what}")
        raise typer.Exit(EXIT_USAGE)


def session_of(context: typer.Context) -> Session:
    """Return what was typed for every command."""
    found = context.find_object(Session)
    return found if found is not None else Session()


def is_served(graph: Any) -> bool:
    """Return whether a server has a graph that was opened."""
    return str(graph.uri).startswith(("http://", "https://"))


@contextmanager
def report_errors(as_json: bool) -> Iterator[None]:
    """Turn an OmniError into a message and an exit code."""
    try:
        yield
    except og.OmniError as error:
        print_error(error, as_json)
        failed = EXIT_PRECONDITION if isinstance(error, og.PreconditionFailed) else EXIT_FAILED
        raise typer.Exit(failed) from error
