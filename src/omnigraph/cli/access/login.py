"""`login` and `logout`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from omnigraph.base.errors import NotFound, OmniError, PolicyDenied, Unauthorized
from omnigraph.cli.output import print_json, print_note, print_text
from omnigraph.cli.session import AsJson, Session, report_errors, session_of

Server = Annotated[str, typer.Argument(help="The server's name in the configuration.", metavar="NAME")]


def login(
    context: typer.Context,
    name: Server,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TOKEN",
            help="The token; other users of this machine can see it while this runs. "
            "Without it, it is asked for or read from standard input.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep the token of a server, once the server has accepted it."""
    from omnigraph.cli.config.credentials import check_token, keep_token, variable_of

    session = session_of(context)
    with report_errors(as_json):
        _check_name(name)
        given = check_token(token if token is not None else _ask_token(name))
        checked = _try_token(session, name, given)
        path = keep_token(name, given)
        if as_json:
            print_json({"server": name, "credentials": str(path), "checked": checked})
        else:
            print_text(f"the token of {name} is kept in {path}")
            print_note(f"the variable {variable_of(name)} goes before it")


def logout(context: typer.Context, name: Server, as_json: AsJson = False) -> None:
    """Forget the token of a server."""
    from omnigraph.cli.config.credentials import drop_token

    with report_errors(as_json):
        if not drop_token(name):
            raise NotFound(f"no token is kept for {name!r}")
        if as_json:
            print_json({"server": name, "removed": True})
        else:
            print_text(f"the token of {name} is forgotten")


def _check_name(name: str) -> None:
    from omnigraph.cli.config.configuration import is_name

    if not is_name(name):
        raise typer.BadParameter(f"{name!r} cannot name a server: letters, digits, '.', '_' and '-'")


def _ask_token(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Token for {name}", hide_input=True, err=True))
    return sys.stdin.readline()


def _try_token(session: Session, name: str, token: str) -> bool:
    """Ask the server with the token, and return whether it said that it knows it."""
    from omnigraph.sdk.remote.requests.transport import Transport

    url = session.configuration.servers.get(name)
    if url is None:
        print_note(f"warning: the configuration has no server {name!r} yet, so the token is not tried")
        return False
    transport = Transport(url.partition("/graphs/")[0], token)
    try:
        transport.ask("/graphs")
    except Unauthorized:
        raise Unauthorized(f"the server {name} at {url} does not accept this token; it is not kept") from None
    except PolicyDenied:
        return True
    except OmniError as error:
        print_note(f"warning: the token could not be tried: {error.message}")
        return False
    finally:
        transport.close()
    return True
