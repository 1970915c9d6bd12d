"""A schema as a caller gives it: a text, or the path of a `.pg` file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema that is a text, whatever it looks like, and what messages call the place that it is from."""

    text: str
    file: str = ""


def read_schema_text(given: Any, others: str = "") -> tuple[str, str]:
    """Return a schema text and the file that it was read from, if any; `others` is what else is accepted."""
    if isinstance(given, SchemaText):
        return given.text, given.file
    if not isinstance(given, str | Path):
        kinds = f"a string{',' if others else ' or'} the path of a .pg file{others}"
        raise BadInput(f"schema is {type(given).__name__}: give {kinds}")
    if isinstance(given, str) and not _looks_like_a_path(given):
        return given, ""
    path = Path(given)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, ValueError) as error:
        raise BadInput(f"the schema file {path} cannot be read: {error}", path=str(path)) from error


def _looks_like_a_path(text: str) -> bool:
    return "\n" not in text and "{" not in text and text.strip().endswith(".pg")
