"""Which names of branches and tags are allowed."""

from __future__ import annotations

from omnigraph.base.errors import InvalidName
from omnigraph.graph.manifest import layout

_MARKS = ".-_"
_OF_COMMITS = "~^@"
_MAX_FILE_NAME_BYTES = 240


def normalise(name: str, what: str = "branch") -> str:
    """Return the name of a branch or tag without surrounding space, or say what is wrong with it.

    Nothing is looked up: this comes before any storage is touched.
    """
    trimmed = name.strip() if isinstance(name, str) else ""
    problem = _problem(trimmed) if isinstance(name, str) else "it is not a string"
    if problem:
        raise InvalidName(f"{name!r} is not a {what} name: {problem}", name=name)
    return trimmed


def _problem(name: str) -> str | None:
    if not name:
        return "it is empty"
    segments = name.split("/")
    if "" in segments:
        return "it has an empty part: no '/' at the ends, no '//'"
    if ".." in name:
        return "it contains '..'"
    if any(segment.endswith(".lock") for segment in segments):
        return "it ends in '.lock'"
    for letter in name:
        if letter != "/" and letter not in _MARKS and not letter.isalnum():
            refusal = f"{letter!r} is not allowed: use letters, digits, '.', '-', '_' and '/'"
            return refusal + ("; give what stands for a commit as `commit`" if letter in _OF_COMMITS else "")
    if len(layout.ref_path(name).rsplit("/", 1)[1]) > _MAX_FILE_NAME_BYTES:
        return "it is too long"
    return None
