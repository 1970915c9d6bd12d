"""`profile list` and `profile show`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.cli.output import print_json, print_table
from omnigraph.cli.session import AsJson, report_errors, session_of

if TYPE_CHECKING:
    from omnigraph.cli.config.configuration import Configuration, GraphPlace

app = typer.Typer(
    help="Look at the profiles of the configuration.", no_args_is_help=True, rich_markup_mode=None
)
_DEFAULTS = "defaults"


@app.command("list")
def list_profiles(context: typer.Context, as_json: AsJson = False) -> None:
    """List the profiles by name; the one that is used unless an address is given is marked."""
    with report_errors(as_json):
        known = session_of(context).configuration
        used = _used_profile()
        documents = [_document(name, place, name == used) for name, place in sorted(known.profiles.items())]
        if as_json:
            print_json({"profiles": documents})
        else:
            rows = [
                ("*" if item["active"] else "", item["name"], *_where(item), item["default_graph"])
                for item in documents
            ]
            print_table(("", "profile", "kind", "where", "graph"), rows)


@app.command()
def show(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="The profile; the one that is used unless given.", metavar="[NAME]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a profile: where it looks for graphs, and whether there is a token."""
    with report_errors(as_json):
        known = session_of(context).configuration
        used = name or _used_profile()
        place = known.profile(used) if used else known.defaults
        document = _document(used or _DEFAULTS, place, used == _used_profile()) | _reach(place, known)
        if as_json:
            print_json(document)
        else:
            print_table(("field", "value"), list(document.items()))


def _used_profile() -> str | None:
    from omnigraph.cli.config.addresses import PROFILE_VARIABLE

    return os.environ.get(PROFILE_VARIABLE) or None


def _document(name: str, place: GraphPlace, is_active: bool) -> dict[str, Any]:
    return {"name": name, **asdict(place), "active": is_active}


def _where(document: dict[str, Any]) -> tuple[str, str]:
    kind = next(name for name in ("server", "cluster", "store") if document[name] is not None)
    return kind, document[kind]


def _reach(place: GraphPlace, known: Configuration) -> dict[str, Any]:
    """Return the address behind the names of a profile, and whether a token is there, without showing it."""
    from omnigraph.cli.config.addresses import server_address
    from omnigraph.cli.config.credentials import find_token

    if place.server is not None:
        address = server_address(place.server, known)
        return {"address": address, "has_token": find_token(address, known.servers) is not None}
    if place.cluster is not None:
        return {"address": known.cluster_root(place.cluster), "has_token": False}
    return {"address": place.store, "has_token": False}
