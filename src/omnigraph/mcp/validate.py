"""Arguments of a call against the schema of its tool: every problem is told, with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as SchemaProblem

from omnigraph.base.errors import BadInput
from omnigraph.compiler.source import make_printable, suggest
from omnigraph.mcp.tools.model import Tool

_MOST_PROBLEMS = 10
_SHOWN_VALUE_LETTERS = 80


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that do not fit, with all that is wrong with them.

    The parameters of a stored query are left to the engine, whose messages are the same everywhere.
    """
    given = {name: item for name, item in arguments.items() if item is not None}
    if tool.checked is not None:
        given = {name: item for name, item in given.items() if name in tool.checked}
    problems = list(_problems(tool, given))
    if problems:
        shown = "; ".join(problems[:_MOST_PROBLEMS])
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise BadInput(
            f"tool {tool.name!r} cannot be called so: {shown}{more}",
            tool=tool.name,
            problems=problems[:_MOST_PROBLEMS],
        )


def _problems(tool: Tool, given: Mapping[str, Any]) -> Iterator[str]:
    yield from (_unknown(name, tool) for name in given if name not in tool.takes)
    if tool.checked is None:
        yield from (f"{name} is missing" for name in tool.required if name not in given)
    schema = {"type": "object", "properties": dict(tool.takes)}
    yield from map(_say, Draft202012Validator(schema).iter_errors(given))


def _unknown(name: str, tool: Tool) -> str:
    hint = suggest(name, tool.takes) or f"it takes {', '.join(tool.takes) or 'no arguments'}"
    return f"there is no argument '{make_printable(name[:_SHOWN_VALUE_LETTERS])}' ({hint})"


def _say(problem: SchemaProblem) -> str:
    where = (
        ".".join(make_printable(str(part)[:_SHOWN_VALUE_LETTERS]) for part in problem.absolute_path)
        or "the arguments"
    )
    shown = make_printable(repr(problem.instance)[:_SHOWN_VALUE_LETTERS])
    wanted: Any = problem.validator_value
    match problem.validator:
        case "type":
            words = " or ".join(wanted) if isinstance(wanted, list) else wanted
            return f"{where} is {shown}: it must be of type {words}"
        case "enum":
            return f"{where} is {shown}: use one of {', '.join(map(str, wanted))}"
        case "minimum" | "maximum":
            side = "at least" if problem.validator == "minimum" else "at most"
            return f"{where} is {shown}: it must be {side} {wanted}"
        case "minItems":
            return f"{where} is empty: give at least {wanted}"
        case "required":
            return f"{where} is {shown}: it needs {', '.join(wanted)}"
        case _:
            return f"{where} is {shown}: it does not fit ({problem.validator})"
