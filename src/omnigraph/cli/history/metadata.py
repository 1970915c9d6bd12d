"""Who made commits, and what they have noted, in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.graph.history import Commit

_MEASURED = ("load.", "merge.", "sql.")
"""What the engine has counted is not why somebody wrote."""


def describe_metadata(metadata: Mapping[str, str]) -> str:
    """Return names and values in one line, in which nothing steers a terminal."""
    noted = {name: value for name, value in metadata.items() if not name.startswith(_MEASURED)}
    text = ", ".join(f"{name}={value}" for name, value in noted.items())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def describe_actor(commit: Commit) -> str | None:
    """Return who made a commit, and whose change it is where somebody else made that."""
    if commit.author in (None, commit.actor):
        return commit.actor
    return f"{commit.actor or 'somebody'}, for {commit.author}"
