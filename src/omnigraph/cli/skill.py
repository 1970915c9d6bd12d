"""`omnigraph skill`: the pages that teach agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnigraph.cli.output import print_note, print_text
from omnigraph.cli.session import report_errors


def skill(
    page: Annotated[str | None, typer.Argument(help="A page to print; SKILL.md unless given.")] = None,
    *,
    prints: Annotated[bool, typer.Option("--print", help="Print a page; the same as no flag.")] = False,
    lists: Annotated[bool, typer.Option("--list", help="List the pages.")] = False,
    install: Annotated[
        Path | None,
        typer.Option("--install", metavar="DIR", help="Write the pages into this folder of skills."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="With --install: over what is there.")] = False,
) -> None:
    """Show or install the pages that teach agents to work with graphs."""
    from omnigraph.skill.pages import install_pages, list_pages, read_page

    with report_errors(as_json=False):
        if sum((prints or page is not None, lists, install is not None)) > 1:
            raise typer.BadParameter("give one of --print, --list and --install")
        if install is not None:
            print_note(f"installed at {install_pages(install, replace)}")
        elif lists:
            print_text("\n".join(list_pages()))
        else:
            print_text(read_page(page or "SKILL.md").rstrip("\n"))
