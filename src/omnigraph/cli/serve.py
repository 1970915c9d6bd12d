"""`omnigraph serve`: graphs over HTTP."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.output import print_address, print_note
from omnigraph.cli.session import report_errors, session_of

_UNAUTHENTICATED = "OMNIGRAPH_UNAUTHENTICATED"
_REQUIRE_ALL = "OMNIGRAPH_REQUIRE_ALL_GRAPHS"


def serve(
    context: typer.Context,
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
    jwks: Annotated[
        str | None,
        typer.Option("--jwks", help="A file or https:// address of keys (JWKS): signed tokens are accepted."),
    ] = None,
    jwt_issuer: Annotated[str | None, typer.Option("--jwt-issuer", help="Who must have made them.")] = None,
    jwt_audience: Annotated[str | None, typer.Option("--jwt-audience", help="For whom.")] = None,
    jwt_algorithm: Annotated[
        list[str] | None, typer.Option("--jwt-algorithm", help="How; RS256 and ES256 unless given.")
    ] = None,
    jwt_actor: Annotated[str, typer.Option("--jwt-actor", help="The claim that names the actor.")] = "sub",
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", help="A policy for all graphs or the server, or NAME=FILE for one."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="A cluster instead of graphs: its name, folder or URI."),
    ] = None,
    require_all_graphs: Annotated[
        bool, typer.Option("--require-all-graphs", help="Start only if every graph of it can be served.")
    ] = False,
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
    webhooks: Annotated[
        str | None, typer.Option("--webhooks", help="A file of who is told of commits and proposals.")
    ] = None,
) -> None:
    """Serve graphs over HTTP until it is stopped."""
    with report_errors(as_json=False):
        try:
            from omnigraph.server.graphs import name_of
            from omnigraph.server.identity.signed_tokens import SignedTokensConfig
            from omnigraph.server.identity.sources import ENVIRONMENT
            from omnigraph.server.run import ServeRequest, serve
        except ModuleNotFoundError as error:
            raise BadInput(
                f"the server needs the package {error.name}: pip install 'omnigraph[server]'"
            ) from error
        if not unauthenticated and os.environ.get(_UNAUTHENTICATED, "") in ("1", "true"):
            if others := [name for name in ENVIRONMENT if name in os.environ]:
                raise typer.BadParameter(f"say who may call: {others[0]} or {_UNAUTHENTICATED}, not both")
            unauthenticated = True
        if unauthenticated and (token_file is not None or jwks is not None):
            raise typer.BadParameter("say who may call: those with tokens, or everybody, not both")
        if not (unauthenticated or token_file or jwks or any(name in os.environ for name in ENVIRONMENT)):
            raise typer.BadParameter(
                "say who may call: give --token-file or --jwks, or --unauthenticated for everybody"
            )
        signed = None
        if jwks is not None:
            if jwt_issuer is None or jwt_audience is None:
                raise typer.BadParameter("--jwks needs --jwt-issuer and --jwt-audience")
            given = {"algorithms": tuple(jwt_algorithm)} if jwt_algorithm else {}
            signed = SignedTokensConfig(jwks, jwt_issuer, jwt_audience, actor_claim=jwt_actor, **given)
        elif jwt_issuer is not None or jwt_audience is not None or jwt_algorithm:
            raise typer.BadParameter("--jwt-issuer, --jwt-audience and --jwt-algorithm need --jwks")
        named = _name_all([*((name_of(uri), uri) for uri in uris or ()), *map(_read_name, graph or ())])
        root = _find_cluster(context, cluster)
        _check_graphs(root, named, policy, require_all_graphs)
        requires_all = require_all_graphs or os.environ.get(_REQUIRE_ALL, "") in ("1", "true")
        if unauthenticated:
            print_note("everybody who can reach this address may read and write")
        serve(
            ServeRequest(
                named,
                bind,
                workers,
                token_file,
                state,
                tuple(allow or ()),
                policies=tuple(policy or ()),
                signed=signed,
                unauthenticated=unauthenticated,
                cluster=root,
                requires_all=requires_all,
                webhooks=webhooks,
            ),
            print_address,
        )


def _name_all(given: list[tuple[str, str]]) -> dict[str, str]:
    named: dict[str, str] = {}
    for name, uri in given:
        if name in named:
            raise typer.BadParameter(f"two graphs are called {name!r}: name one with --graph NAME=URI")
        named[name] = uri
    return named


def _check_graphs(root: str | None, named: dict[str, str], policy: list[str] | None, needs_all: bool) -> None:
    if root is not None and (named or policy):
        raise typer.BadParameter("a cluster says itself which graphs and policies there are")
    if root is None and not named:
        raise typer.BadParameter("which graphs? Give their addresses, --graph NAME=URI, or --cluster")
    if root is None and needs_all:
        raise typer.BadParameter("--require-all-graphs is for a cluster")


def _find_cluster(context: typer.Context, given: str | None) -> str | None:
    if given is None:
        return None
    from omnigraph.cluster.places import find_root

    return find_root(session_of(context).configuration.cluster_root(given))


def _read_name(given: str) -> tuple[str, str]:
    name, sign, uri = given.partition("=")
    if not sign or not name or not uri:
        raise typer.BadParameter(f"--graph is {given!r}: give NAME=URI")
    return name, uri
