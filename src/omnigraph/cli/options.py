"""Options that commands share, defined once: the fields of a dataclass become options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from omnigraph.base.errors import BadInput

_Options = TypeVar("_Options")

EngineName = Annotated[str, typer.Option("--engine", help="local, spark, or auto to choose by size.")]
IdempotencyKey = Annotated[
    str | None, typer.Option(help="A name for this write: the same name again changes nothing.")
]

MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="NAME=VALUE", help="Note this in the commit; can be repeated."),
]


SameAsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--same-as",
        metavar="TYPE.PROPERTY",
        help="Ask about nodes of one type with the same value, which may be duplicates; can be repeated. "
        "Several properties together: Person.first,last. Person:QUERY asks a stored query for pairs.",
    ),
]


def parse_rules(given: list[str] | None) -> list[dict[str, Any]] | None:
    """Return the rules that find duplicates, as they were typed."""
    if not given:
        return None
    found: list[dict[str, Any]] = []
    for item in given:
        type_name, colon, query = item.partition(":")
        if type_name and colon and query:
            found.append({"type": type_name, "query": query})
            continue
        type_name, dot, names = item.partition(".")
        if not (type_name and dot and all(names.split(","))):
            raise BadInput(f"--same-as is {item!r}: write TYPE.PROPERTY, such as Person.mail, or TYPE:QUERY")
        found.append({"type": type_name, "on": names.split(",")})
    return found


def as_typed(words: Any) -> Any:
    """Return what a user typed for an option that takes certain words: the engine refuses others."""
    return words


def parse_count(option: str, text: str) -> int:
    """Return an option that counts something; as a number Typer would import pydantic for it."""
    if not (text.isascii() and text.isdigit()):
        raise BadInput(f"{option} is {text!r}: it must be a whole number of at least 0")
    return int(text)


def parse_metadata(given: list[str] | None) -> dict[str, str] | None:
    """Return metadata of a commit as it was typed, `task=t-17`."""
    if not given:
        return None
    found: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not (name and equals):
            raise BadInput(f"--metadata is {item!r}: write NAME=VALUE")
        if name in found:
            raise BadInput(f"--metadata has {name!r} twice")
        found[name] = value
    return found


def expand_options(options: type[_Options]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: the command's parameter `options` becomes the fields of a dataclass."""
    hints = get_type_hints(options, include_extras=True)
    names = [item.name for item in fields(options)]  # type: ignore[arg-type]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(
            item.name,
            keyword,
            default=inspect.Parameter.empty if item.default is MISSING else item.default,
            annotation=hints[item.name],
        )
        for item in fields(options)  # type: ignore[arg-type]
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        parameters: list[inspect.Parameter] = []
        for name, parameter in own.items():
            parameters += shared if name == "options" else [parameter]

        @wraps(command)
        def run_command(**given: Any) -> None:
            chosen = options(**{name: given.pop(name) for name in names})
            command(**given, options=chosen)

        # No positional parameter may follow a keyword-only one; all are passed by name anyway.
        every = [parameter.replace(kind=keyword) for parameter in parameters]
        run_command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return run_command

    return decorate
