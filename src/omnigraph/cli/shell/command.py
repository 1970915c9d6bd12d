"""`omnigraph shell`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.session import EXIT_FAILED, AsJson, Branch, Uri, report_errors, session_of


def shell(
    context: typer.Context,
    uri: Uri = None,
    branch: Branch = "main",
    read_only: Annotated[bool, typer.Option("--read-only", help="Change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Type queries and commands one after the other; \\help lists the commands."""
    from omnigraph.cli.config.home import make_home
    from omnigraph.cli.shell.session import ShellSession
    from omnigraph.cli.shell.statements import split_statements

    with report_errors(as_json):
        typed = sys.stdin.isatty() and sys.stdout.isatty()
        if typed and find_spec("prompt_toolkit") is None:
            raise BadInput("the shell needs the package prompt_toolkit: pip install 'omnigraph[shell]'")
        graph = session_of(context).open(uri, branch, read_only=read_only, announce=not read_only)
        session = ShellSession(graph, as_json)
        if typed:
            from omnigraph.cli.shell.terminal import run_terminal

            run_terminal(session, make_home() / "history")
            return
        failed = False
        for statement in split_statements(sys.stdin.read()):
            session.execute(statement)
            failed = failed or session.failed
            if session.is_over:
                break
        if failed:
            raise typer.Exit(EXIT_FAILED)
