"""Which commands there are: the file of each, and the line about it that `--help` shows.

A file is imported when one of its commands is called, and no file imports the engine before a command runs:
help and completion come at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "init": ("graph", "Make a new graph."),
    "snapshot": (
        "graph",
        "Show the tables of a graph at a branch's head, version or past moment, a commit, or a tag.",
    ),
    "version": ("graph", "Show the release and the storage format that it writes."),
    "query": ("query", "Run a read query: a stored one by its name, or the text that is given."),
    "explain": ("explain", "Show how a read query is carried out."),
    "mutate": (
        "write",
        "Run a mutation query as one commit: a stored one by its name, or the text that is given.",
    ),
    "load": ("write", "Load graph records as one commit, or nothing at all."),
    "export": (
        "export",
        "Write every node and edge as NDJSON graph records or Parquet columns, which `load` reads.",
    ),
    "embed": ("embed", "Compute the missing vectors of a graph's texts as one commit, or of a file's."),
    "optimize": (
        "maintenance",
        "Join fragments, fold new rows into indexes and build declared ones, in at most one commit.",
    ),
    "cleanup": ("maintenance", "Drop old commits and remove files that nothing needs any more."),
    "repair": ("maintenance", "Verify the whole graph and explain what is inconsistent."),
    "backup": (
        "backup",
        "Copy the whole graph, or one snapshot, to a place of backups; only what is new there is copied.",
    ),
    "backups": ("backup", "List the backups at a place, or with --verify read them."),
    "restore": ("backup", "Make a graph from a backup; one that was cut off goes on."),
    "log": (
        "history.log",
        "Show the commits of all branches, newest first: who made them, when and why.",
    ),
    "diff": ("changes", "Show what leads from one branch or commit to another."),
    "serve": ("serve", "Serve graphs over HTTP until it is stopped."),
    "mcp": (
        "mcp",
        "Give a graph to agents as tools, over the Model Context Protocol, on standard input and output.",
    ),
    "skill": ("skill", "Show or install the pages that teach agents to work with graphs."),
    "shell": ("shell.command", "Type queries and commands one after the other; \\help lists the commands."),
    "alias": (
        "access.alias",
        "Run a stored query of a server by a name of the configuration, or list these names.",
    ),
    "login": ("access.login", "Keep the token of a server, once the server has accepted it."),
    "logout": ("access.login", "Forget the token of a server."),
    "fmt": ("languages", "Rewrite schema and query files in canonical form."),
    "lint": ("languages", "Check every query of a file against a schema."),
}
"""Each is the function of its name."""

GROUPS = {
    "branch": "Create, list, describe, rename, merge, rebase, reset, delete and restore branches.",
    "commit": "Look at the history.",
    "schema": "Look at the schema and change it.",
    "queries": "Look at the stored queries and change them.",
    "blob": "Read and write the bytes of a blob.",
    "entity": "Look at one node or edge; combine duplicates.",
    "proposal": "Propose branches to be merged; review, approve and merge what others propose.",
    "tag": "Name commits, so that cleanup keeps them.",
    "changes": "Follow what is committed.",
    "policy": "Check, test and explain files that say who may do what.",
    "token": "Make, list and revoke the tokens of a server.",
    "cluster": "Declare graphs, schemas, queries, policies and pipelines as files.",
    "pipeline": "Run the loads that a cluster declares.",
    "spark": "Prepare Spark on this machine.",
    "graphs": "Look at the graphs of a server.",
    "profile": "Look at the profiles of the configuration.",
}
"""Each is the `app` of the file of its name."""
_FOLDERS = {"graphs": "access", "profile": "access"}
"""Where that file is, when it is in a folder."""


class _FastCommand:
    """A command that converts no None and no string; Typer would import pydantic for that."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, also those that Typer adds for help and completion."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if "process_value" not in vars(param):
                param.process_value = partial(_as_given, param, param.process_value)
        return params


def _as_given(param: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the value of a parameter as it is, where converting it would change nothing."""
    if value is None and not (param.required or param.multiple or param.nargs != 1):
        return None
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if isinstance(value, str) and annotation is str and param.callback is None:
        return value
    if param.multiple and not value and not param.required and param.callback is None:
        return None
    return convert(ctx, value)


class _Command(_FastCommand, TyperCommand):
    pass


class Commands(_FastCommand, TyperGroup):
    """The commands by name: listed from the lines above, loaded when they are called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, line in ({name: line for name, (_, line) in COMMANDS.items()} | GROUPS).items():
            self.add_command(TyperCommand(name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name; completion calls this too."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name and listed else listed, rest


def load_command(name: str) -> Any:
    """Import the file of a command or group and return what Typer makes of it."""
    from omnigraph.cli.verbs import add_flags

    if name in GROUPS:
        group = typer.main.get_group(import_module(_file_of(name)).app)
        for word, member in group.commands.items():
            add_flags(f"{name} {word}", member)
        return group
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=_Command)(getattr(import_module(f"omnigraph.cli.{COMMANDS[name][0]}"), name))
    command = typer.main.get_command(app)
    add_flags(name, command)
    return command


def _file_of(group: str) -> str:
    folder = f"{_FOLDERS[group]}." if group in _FOLDERS else ""
    return f"omnigraph.cli.{folder}{group}"
