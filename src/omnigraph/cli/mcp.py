"""`omnigraph mcp`: a graph as tools of agents."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated, Any

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.options import MetadataOption, parse_metadata
from omnigraph.cli.output import print_address, print_json, print_note
from omnigraph.cli.session import Session, report_errors, session_of

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def mcp(
    context: typer.Context,
    uri: Annotated[
        str | None,
        typer.Argument(
            help="The graph: a path, file://, s3://, or http(s)://host/graphs/x.", metavar="[URI]"
        ),
    ] = None,
    *,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer only tools that read.")] = False,
    branch: Annotated[
        str, typer.Option("--branch", "-b", help="The branch of calls that name none.")
    ] = "main",
    policy: Annotated[
        str | None, typer.Option("--policy", help="A file that says what actors may do.")
    ] = None,
    metadata: MetadataOption = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="BIND", help="Serve streamable HTTP at this address and port instead."
        ),
    ] = None,
    token_file: Annotated[
        str | None, typer.Option("--token-file", help="With --http: actors and their tokens.")
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print what to paste into a client, and end.")
    ] = False,
) -> None:
    """Give a graph to agents as tools, over the Model Context Protocol, on standard input and output."""
    with report_errors(as_json=False):
        session = session_of(context)
        if uri is not None and uri.lower().startswith(("http://", "https://")):
            from omnigraph.cli.config.flags import AddressFlags

            if session.flags.store or session.flags.server or session.flags.cluster:
                raise typer.BadParameter("give the address once: either here or as a flag")
            session, uri = session.at(AddressFlags(server=uri, graph=session.flags.graph)), None
        target = session.target(uri)
        if http is not None and target.is_served:
            raise typer.BadParameter(f"a server answers agents itself, at {target.uri}/mcp: leave out --http")
        if token_file is not None and http is None:
            raise typer.BadParameter("--token-file is for --http: without it the actor is --as")
        if print_config:
            print_json(_describe(session, target, read_only, branch, policy))
            return
        _need_packages()
        if http is not None:
            if session.actor is not None or metadata or branch != "main":
                raise typer.BadParameter(
                    "--as, --branch and --metadata are not for --http: tokens say who calls"
                )
            _serve_http(target.uri, http, token_file, policy, read_only)
            return
        _serve_stdio(session, target, read_only, branch, policy, parse_metadata(metadata) or {})


def _serve_stdio(
    session: Session,
    target: Any,
    read_only: bool,
    branch: str,
    policy: str | None,
    noted: dict[str, str],
) -> None:
    import omnigraph as og
    from omnigraph.graph.write.integrity.blob_sources import forbid_files
    from omnigraph.mcp.limits import ToolLimits
    from omnigraph.mcp.serving import serve_stdio
    from omnigraph.mcp.source import ToolCaller, source_of

    forbid_files()  # what an agent names is not read from this machine
    if target.is_served:
        if session.actor is not None or policy is not None:
            raise typer.BadParameter("--as and --policy: a server knows who is acting, and what they may do")
        graph = og.open(target.uri, branch=branch, token=target.token)
    else:
        graph = og.open(target.uri, branch=branch, read_only=read_only, actor=session.acting, policy=policy)
    serve_stdio(ToolCaller(source_of(graph), graph.actor, read_only, noted), ToolLimits.from_environment())


def _serve_http(uri: str, bind: str, token_file: str | None, policy: str | None, read_only: bool) -> None:
    try:
        from omnigraph.server.graphs import name_of
        from omnigraph.server.run import ServeRequest, serve
    except ModuleNotFoundError as error:
        raise BadInput(f"--http needs the package {error.name}: pip install 'omnigraph[server]'") from error
    if token_file is None and bind.rpartition(":")[0] not in _LOOPBACK:
        raise typer.BadParameter(
            f"--http {bind} is reached by other machines: say who may call with --token-file, or bind "
            f"127.0.0.1"
        )
    name = name_of(uri)
    request = ServeRequest(
        {name: uri},
        bind,
        token_file=token_file,
        policies=() if policy is None else (policy,),
        unauthenticated=token_file is None,
        only_agents=True,
        agents_read_only=read_only,
    )

    def announce(address: str) -> None:
        print_address(address)
        print_note(f"agents call http://{address}/graphs/{name}/mcp")

    serve(request, announce)


def _need_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("mcp", "jsonschema") if find_spec(name) is None]
    if missing:
        raise BadInput(f"tools for agents need the package {missing[0]}: pip install 'omnigraph[mcp]'")


def _describe(
    session: Session, target: Any, read_only: bool, branch: str, policy: str | None
) -> dict[str, Any]:
    from omnigraph.mcp.client_config import describe_address, describe_process

    if target.is_served:
        return describe_address(target.uri, f"{target.uri}/mcp", target.token is not None, read_only)
    place = os.path.abspath(target.uri) if "://" not in target.uri else target.uri
    arguments = ["mcp", place]
    actor = session.acting
    for flag, value in (
        ("--as", actor),
        ("--branch", branch if branch != "main" else None),
        ("--policy", None if policy is None else os.path.abspath(policy)),
    ):
        arguments += [flag, value] if value else []
    arguments += ["--read-only"] if read_only else []
    beside = os.path.join(os.path.dirname(sys.executable), "omnigraph")
    command = beside if os.path.exists(beside) else shutil.which("omnigraph") or "omnigraph"
    return describe_process(place, command, arguments)
