"""The pages of the skill: reading them, and writing them where an agent finds them."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from omnigraph.base.errors import AlreadyExists, BadInput

FOLDER = "omnigraph"
"""The name of the skill, and of the folder that it is installed as."""
_REFERENCES = "references"


def list_pages() -> list[str]:
    """Return the names of all pages: the skill first, then its references."""
    found = sorted(
        item.name for item in (files(__package__) / _REFERENCES).iterdir() if item.name.endswith(".md")
    )
    return ["SKILL.md", *(f"{_REFERENCES}/{name}" for name in found)]


def read_page(name: str) -> str:
    """Return the text of a page."""
    if name not in list_pages():
        raise BadInput(f"the skill has no page {name!r}: it has {', '.join(list_pages())}")
    return files(__package__).joinpath(*name.split("/")).read_text(encoding="utf-8")


def install_pages(folder: str | os.PathLike[str], replace: bool = False) -> Path:
    """Write the skill into a folder of skills, as a folder of its own, and return that."""
    target = Path(folder) / FOLDER
    if target.exists() and not replace:
        raise AlreadyExists(f"{target} is there already: give --replace to write over it", path=str(target))
    for name in list_pages():
        page = target / name
        try:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(read_page(name), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{page} cannot be written: {error.strerror or error}", path=str(page)) from error
    return target
