"""Which flags every command can use beside its own: where the graph is, who acts, whether to ask.

They may be typed before the command or after it. One that the command cannot use is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal

import typer

from omnigraph.cli.config.flags import AddressFlags
from omnigraph.cli.session import Session, session_of

Where = Literal["graph", "storage", "cluster", "server", "servers", "nothing"]


@dataclass(frozen=True, slots=True)
class CommandKind:
    """What a command is about: a graph wherever it is, storage, a server; and what it does."""

    where: Where = "graph"
    writes: bool = False
    asks: bool = False

    @property
    def flags(self) -> frozenset[str]:
        """The flags that it can use."""
        acting = {"actor"} if self.writes else set()
        return _SCOPES[self.where] | acting | ({"yes"} if self.asks else set()) | {"quiet"}


_EVERYWHERE = frozenset({"store", "server", "graph", "profile", "cluster"})
_SCOPES: Mapping[Where, frozenset[str]] = {
    "graph": _EVERYWHERE,
    "storage": _EVERYWHERE - {"server"},
    "cluster": _EVERYWHERE - {"store"},
    "server": frozenset({"server", "profile"}),
    "servers": frozenset(),
    "nothing": frozenset(),
}
_READ, _WRITE = CommandKind(), CommandKind(writes=True)
_ASKING, _NOTHING = CommandKind(writes=True, asks=True), CommandKind("nothing")

VERBS: Mapping[str, CommandKind] = {
    "init": CommandKind("storage", writes=True),
    **dict.fromkeys(("snapshot", "query", "explain", "export", "diff", "lint", "log"), _READ),
    **dict.fromkeys(("mutate", "embed", "optimize", "repair"), _WRITE),
    **dict.fromkeys(("load", "cleanup", "branch delete"), _ASKING),
    "backup": CommandKind("storage", writes=True),
    **dict.fromkeys(("version", "backups", "restore", "serve", "fmt"), _NOTHING),
    **dict.fromkeys(("branch list", "branch info", "commit list", "commit show", "commit changes"), _READ),
    **dict.fromkeys(("schema show", "schema plan", "blob get", "blob stat", "tag list"), _READ),
    **dict.fromkeys(("entity show", "entity history", "entity blame", "entity same"), _READ),
    **dict.fromkeys(("changes poll", "changes baseline"), _READ),
    **dict.fromkeys(("branch create", "branch restore", "branch rename", "branch reset"), _WRITE),
    **dict.fromkeys(("branch merge", "branch rebase", "commit revert", "commit cherry-pick"), _WRITE),
    **dict.fromkeys(("schema apply", "blob put", "blob clear"), _WRITE),
    **dict.fromkeys(("entity reset", "entity combine", "tag create", "tag delete"), _WRITE),
    **dict.fromkeys(("queries list", "queries show", "queries validate"), _READ),
    **dict.fromkeys(("queries apply", "queries remove"), _WRITE),
    **dict.fromkeys(("proposal list", "proposal show", "proposal mergeable", "proposal diff"), _READ),
    **dict.fromkeys(("proposal create", "proposal comment", "proposal approve"), _WRITE),
    **dict.fromkeys(("proposal request-changes", "proposal resolve", "proposal merge"), _WRITE),
    **dict.fromkeys(("proposal close", "proposal reopen", "branch protect", "branch unprotect"), _WRITE),
    "pipeline list": CommandKind("cluster"),
    "pipeline run": CommandKind("cluster", writes=True),
    "mcp": _WRITE,
    "shell": _WRITE,
    "skill": _NOTHING,
    "spark prepare": _NOTHING,
    "graphs list": CommandKind("server"),
    **dict.fromkeys(("cluster validate", "cluster plan", "cluster status"), _NOTHING),
    **dict.fromkeys(("cluster apply", "cluster approve", "cluster refresh"), CommandKind("nothing", True)),
    **dict.fromkeys(("cluster import", "cluster force-unlock"), CommandKind("nothing", True)),
    **dict.fromkeys(("policy validate", "policy test", "policy explain"), _NOTHING),
    **dict.fromkeys(("token add", "token list", "token revoke"), _NOTHING),
    **dict.fromkeys(("login", "logout", "alias", "profile list", "profile show"), _NOTHING),
}
"""Every command by its name."""
_UNLISTED = CommandKind(writes=True, asks=True)


def _take_flags(
    flag_store: Annotated[
        str | None, typer.Option("--store", help="Where the graph is stored: a path, file:// or s3://.")
    ] = None,
    flag_server: Annotated[
        str | None, typer.Option("--server", help="The server that has it: its name, or http(s)://.")
    ] = None,
    flag_graph: Annotated[
        str | None, typer.Option("--graph", help="Its name at the server or in the cluster.")
    ] = None,
    flag_profile: Annotated[
        str | None, typer.Option("--profile", help="A profile of the configuration that says where.")
    ] = None,
    flag_cluster: Annotated[
        str | None, typer.Option("--cluster", help="The cluster that it is stored in: a name, folder or URI.")
    ] = None,
    flag_actor: Annotated[
        str | None, typer.Option("--as", help="Who is acting; recorded in commits to storage.")
    ] = None,
    flag_yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    flag_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only results.")] = False,
) -> None:
    """Take the flags of every command."""


@cache
def _flag_params() -> tuple[Any, ...]:
    app = typer.Typer(add_completion=False)
    app.command()(_take_flags)
    return tuple(typer.main.get_command(app).params)


def add_flags(name: str, command: Any) -> None:
    """Let a command take the flags that it can use, and refuse others that were typed before it."""
    verb = VERBS.get(name, _UNLISTED)
    own = {spelling for param in command.params for spelling in param.opts}
    added = [
        param
        for param in _flag_params()
        if param.name.removeprefix("flag_") in verb.flags and own.isdisjoint(param.opts)
    ]
    command.params.extend(added)
    invoke = command.invoke

    def invoke_with_flags(context: Any) -> Any:
        typed = {param.name.removeprefix("flag_"): context.params.pop(param.name) for param in added}
        context.obj = _join(session_of(context), typed, verb, name)
        return invoke(context)

    command.invoke = invoke_with_flags


def _join(before: Session, typed: Mapping[str, Any], verb: CommandKind, name: str) -> Session:
    """Return what was typed before a command and after it, or refuse what it cannot use."""
    address = {flag: getattr(before.flags, flag) for flag in AddressFlags.__dataclass_fields__}
    earlier = {**address, "actor": before.actor, "yes": before.yes, "quiet": before.quiet}
    for flag, value in earlier.items():
        spelling = "as" if flag == "actor" else flag
        if value and flag not in verb.flags:
            raise typer.BadParameter(f"{name} cannot use --{spelling}{_why(flag, verb)}")
        if value and typed.get(flag) and typed[flag] != value:
            raise typer.BadParameter(f"--{spelling} is there twice: {value} and {typed[flag]}")
    found = {flag: typed.get(flag) or value for flag, value in earlier.items()}
    return replace(
        before,
        flags=AddressFlags(**{flag: found[flag] for flag in address}),
        actor=found["actor"],
        yes=found["yes"],
        quiet=found["quiet"],
    )


def _why(flag: str, verb: CommandKind) -> str:
    if flag == "server" and verb.where == "storage":
        return ": it needs the storage of a graph"
    if flag == "actor" and not verb.writes:
        return ": it writes nothing"
    return ""
