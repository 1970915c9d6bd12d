"""Write `docs/reference/`: the command line from the program itself, Python from its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.cli.commands import COMMANDS, GROUPS, load_command

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
MADE = "<!-- Made by scripts/reference.py. -->"

HANDLES = {
    "Graph": ("g", "omnigraph.sdk.graph"),
    "Snapshot": ("g.snapshot()", "omnigraph.sdk.snapshot"),
    "Branches": ("g.branches", "omnigraph.graph.handle_branches"),
    "Commits": ("g.commits", "omnigraph.graph.handle_commits"),
    "Tags": ("g.tags", "omnigraph.graph.handle_tags"),
    "SchemaHandle": ("g.schema", "omnigraph.sdk.schema"),
    "QueriesHandle": ("g.queries", "omnigraph.sdk.queries.handle"),
    "Changes": ("g.changes", "omnigraph.sdk.changes"),
    "Proposals": ("g.proposals", "omnigraph.sdk.proposals.handle"),
    "Entity": ("g.entity(…)", "omnigraph.sdk.entities.entity"),
    "Entities": ("g.entities", "omnigraph.sdk.entities.entities"),
    "BlobHandle": ("g.blob(…)", "omnigraph.sdk.entities.blob"),
    "Diff": ("g.diff(…)", "omnigraph.graph.changes.diff"),
}
"""What a user holds: how it is reached, and where it is defined."""
INSIDE = {
    "Graph": {
        "catalog_at",
        "commit_work",
        "embedder",
        "internals",
        "reader",
        "schemas",
        "settings",
        "snapshot_of",
    },
    "Snapshot": {"access", "catalog", "core", "distinct", "sees_all", "sight", "view_id", "catalog_at"},
    "Proposals": {"stamp"},
    "BlobHandle": {"stamp"},
}
"""What only other parts of the engine call."""
MODULES = (
    "omnigraph.spark",
    *(f"omnigraph.integrations.{name}" for name in ("networkx", "igraph", "pyg", "labelled")),
)


def make_command_line() -> str:
    """Return the page about all commands."""
    lines = [
        "# Command line reference",
        "",
        MADE,
        "",
        "Every command with all its flags, as `omnigraph COMMAND --help` shows them. How they work together,",
        "exit codes and configuration: [the command line](../command-line.md).",
        "",
        "| command | |",
        "| --- | --- |",
        *(f"| [`{name}`](#{_anchor(f'omnigraph {name}')}) | {text} |" for name, text in _commands()),
        "",
        *_shared_flags(),
    ]
    for name, _ in _commands():
        if name in GROUPS:
            for word, member in sorted(load_command(name).commands.items()):
                lines += _command(f"{name} {word}", member, f"omnigraph {name}" if word else "")
        else:
            lines += _command(name, load_command(name), "")
    return "\n".join(_with_group_heads(lines)) + "\n"


def _commands() -> list[tuple[str, str]]:
    return sorted([*((name, text) for name, (_, text) in COMMANDS.items()), *GROUPS.items()])


def _with_group_heads(lines: list[str]) -> Iterator[str]:
    begun: set[str] = set()
    for line in lines:
        group = line.split()[2] if line.startswith("### omnigraph ") else ""
        if group and group not in begun:
            begun.add(group)
            yield from (f"## omnigraph {group}", "", GROUPS[group], "")
        yield line


def _shared_flags() -> list[str]:
    shown = load_command("mutate")
    shared = [param for param in shown.params if param.name.startswith("flag_")]
    rows = (f"| {_spelling(param)} | {_cell(param.help)} |" for param in shared)
    return [
        "## Flags of all commands",
        "",
        "Before the command or after it. A command that cannot use one refuses it.",
        "",
        "| flag | |",
        "| --- | --- |",
        *rows,
        "| `--help` | Show the flags of the command. |",
        "",
    ]


def _command(name: str, command: Any, group: str) -> list[str]:
    own = [param for param in command.params if not param.name.startswith("flag_") and not param.hidden]
    own = [param for param in own if param.name != "help"]
    words = [param for param in own if param.param_type_name == "argument"]
    flags = [param for param in own if param.param_type_name == "option"]
    usage = " ".join(["omnigraph", name, *("[flags]" for _ in flags[:1]), *map(_word, words)])
    lines = [f"{'###' if group else '##'} omnigraph {name}", "", inspect.cleandoc(command.help or ""), ""]
    lines += ["```", usage, "```", ""]
    if own:
        lines += ["| | |", "| --- | --- |"]
        lines += [f"| `{_word(param)}` | {_cell(param.help)} |" for param in words]
        lines += [f"| {_spelling(param)} | {_cell(param.help)}{_remark(param)} |" for param in flags]
        lines.append("")
    shared = sorted(f"`{param.opts[0]}`" for param in command.params if param.name.startswith("flag_"))
    if shared:
        lines += [f"Also {', '.join(shared)}.", ""]
    return lines


def _word(param: Any) -> str:
    name = re.sub(r"[^\w-]", "", param.metavar or param.name.upper())
    name = f"{name}…" if param.nargs == -1 else name
    return name if param.required else f"[{name}]"


def _spelling(param: Any) -> str:
    kind = param.type_descriptor.annotation
    value = ""
    if kind is not bool:
        value = (
            f" {param.metavar or ('N' if kind in (int, float) else param.name.removeprefix('flag_').upper())}"
        )
    return ", ".join(f"`{spelling}{value}`" for spelling in [*param.opts, *param.secondary_opts])


def _remark(param: Any) -> str:
    if param.required:
        return " Required."
    if param.default in (None, False, True, (), []) or callable(param.default):
        return ""
    return f" Default: `{param.default}`."


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def make_python() -> str:
    """Return the page about what `import omnigraph` gives."""
    functions = [name for name in og.__all__ if inspect.isfunction(getattr(og, name))]
    classes = [
        name for name in og.__all__ if inspect.isclass(getattr(og, name)) and _is_value(getattr(og, name))
    ]
    lines = [
        "# Python reference",
        "",
        MADE,
        "",
        "What `import omnigraph as og` gives, from its docstrings. Asynchronous programs have the same",
        "methods, awaited: [Python](../python.md). Errors: [errors](../errors.md).",
        "",
        "## Functions",
        "",
    ]
    for name in functions:
        lines += _function(f"og.{name}", getattr(og, name), "###")
    for name, (reached, module) in HANDLES.items():
        lines += _handle(reached, getattr(import_module(module), name), INSIDE.get(name, set()))
    lines += ["## What calls return", ""]
    for name in classes:
        lines += _value(name, getattr(og, name))
    for module in MODULES:
        found = import_module(module)
        lines += [f"## {module}", "", _doc(found), ""]
        for name in found.__all__:
            thing = getattr(found, name)
            if inspect.isclass(thing):
                lines += [f"### {module}.{name}", "", _doc(thing), ""]
                lines += [
                    line for word, each in _members(thing) for line in _function(f".{word}", each, "####")
                ]
            else:
                lines += _function(f"{module}.{name}", thing, "###")
    return "\n".join(lines) + "\n"


def _is_value(kind: type) -> bool:
    return (
        not issubclass(kind, Exception)
        and not kind.__name__.startswith("Async")
        and kind.__name__ not in HANDLES
    )


def _handle(reached: str, kind: type, hidden: set[str]) -> list[str]:
    lines = [f"## {reached}", "", _doc(kind), ""]
    for name, member in _members(kind):
        if name in hidden:
            continue
        if isinstance(member, property):
            lines += _property(f"{reached}.{name}", member)
        else:
            lines += _function(f"{reached}.{name}", member, "###")
    return lines


def _members(kind: type) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        found |= {name: member for name, member in vars(base).items() if not name.startswith("_")}
    callables = {
        name: member
        for name, member in found.items()
        if isinstance(member, property) or inspect.isfunction(member)
    }
    return sorted(callables.items())


def _property(name: str, member: property) -> list[str]:
    kind = inspect.signature(member.fget).return_annotation if member.fget else ""
    return [f"### {name}", "", f"`{_annotation(kind)}`", "", _doc(member), ""]


def _function(name: str, function: Callable[..., Any], level: str) -> list[str]:
    signature = inspect.signature(function)
    given = [param for word, param in signature.parameters.items() if word != "self"]
    text = str(signature.replace(parameters=given, return_annotation=signature.empty))
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    returned = _annotation(signature.return_annotation)
    head = f"{name}{text}" + (f" -> {returned}" if returned else "")
    return [f"{level} {name}", "", "```py", *_wrapped(head), "```", "", _doc(function), ""]


def _wrapped(head: str, width: int = 110) -> list[str]:
    """Break a long signature at its parameters."""
    if len(head) <= width:
        return [head]
    opening, closing = head.index("("), head.rindex(")")
    parts = re.split(r", (?=\*|\w+:|\w+=|/)", head[opening + 1 : closing])
    return [head[: opening + 1], *(f"    {part}," for part in parts), head[closing:]]


def _annotation(kind: Any) -> str:
    if kind is inspect.Signature.empty:
        return ""
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def _value(name: str, kind: type) -> list[str]:
    lines = [f"### og.{name}", "", _doc(kind), ""]
    rows = []
    if is_dataclass(kind):
        for item in fields(kind):
            if not item.name.startswith("_"):
                default = "" if item.default is MISSING else f" = {item.default!r}"
                rows.append(
                    f"| `{item.name}` | `{_annotation(item.type)}{default}` |".replace(" | None", " \\| None")
                )
    for word, member in _members(kind):
        called = word if isinstance(member, property) else f"{word}()"
        rows.append(f"| `{called}` | {_cell(_doc(member).splitlines()[0] if _doc(member) else '')} |")
    return [*lines, *(["| | |", "| --- | --- |", *rows, ""] if rows else [])]


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _anchor(heading: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


PAGES = {"command-line.md": make_command_line, "python.md": make_python}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for page, make in PAGES.items():
        (FOLDER / page).write_text(make())
