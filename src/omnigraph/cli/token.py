"""`omnigraph token`: the tokens of a server, kept in a file as hashes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.output import print_json, print_note, print_table, print_text
from omnigraph.cli.session import AsJson, report_errors

app = typer.Typer(
    help="Make, list and revoke the tokens of a server.", no_args_is_help=True, rich_markup_mode=None
)

TokenFile = Annotated[
    Path, typer.Option("--file", "-f", help="The file of hashes, which the server is started with.")
]


@app.command("add")
def add(
    actor: Annotated[str, typer.Argument(help="Whose token it is.")],
    file: TokenFile,
    expires: Annotated[
        str | None, typer.Option("--expires", help="How long it holds: 90m, 12h, 30d; for ever unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and show it once: only its hash is kept. Running servers know it within seconds."""
    with report_errors(as_json):
        from omnigraph.graph.maintenance.durations import seconds_of
        from omnigraph.server.identity.token_file import add_token

        made, secret = add_token(file, actor, seconds_of(expires, "--expires"))
    if as_json:
        print_json({**_tell(made), "token": secret})
    else:
        print_note(f"token {made.id} of {actor}; it is shown this once")
        print_text(secret)


@app.command("list")
def list_all(file: TokenFile, as_json: AsJson = False) -> None:
    """Show whose tokens there are and until when they hold."""
    with report_errors(as_json):
        from omnigraph.server.identity.token_file import list_tokens

        found = [_tell(item) for item in list_tokens(file)]
    if as_json:
        print_json(found)
    else:
        names = ("id", "actor", "created_at", "expires_at")
        print_table(names, [[item[name] for name in names] for item in found])


@app.command("revoke")
def revoke(
    id: Annotated[str | None, typer.Argument(help="The id of a token.")] = None,
    *,
    file: TokenFile,
    actor: Annotated[str | None, typer.Option("--actor", help="All tokens of an actor instead.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take tokens back. Running servers let nobody in by them any more within seconds."""
    with report_errors(as_json):
        from omnigraph.server.identity.token_file import revoke_tokens

        if (id is None) == (actor is None):
            raise BadInput("which token? Give its id, or --actor for all of an actor")
        gone = [_tell(item) for item in revoke_tokens(file, id, actor)]
    if as_json:
        print_json(gone)
    else:
        for item in gone:
            print_text(f"token {item['id']} of {item['actor']} is revoked")


def _tell(item: Any) -> dict[str, Any]:
    """Return what is told of a token: not its hash, which nobody needs."""
    data: dict[str, Any] = item.to_json()
    del data["sha256"]
    return data
