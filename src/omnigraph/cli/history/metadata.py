"""What the writers of commits have noted, in a line."""

from __future__ import annotations

from collections.abc import Mapping

_MEASURED = ("load.", "merge.", "sql.")
"""What the engine has counted is not why somebody wrote."""


def describe_metadata(metadata: Mapping[str, str]) -> str:
    """Return names and values in one line, in which nothing steers a terminal."""
    noted = {name: value for name, value in metadata.items() if not name.startswith(_MEASURED)}
    text = ", ".join(f"{name}={value}" for name, value in noted.items())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
