"""`tag create`, `tag list` and `tag delete`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from omnigraph.cli.output import print_json, print_table, print_text
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of

app = typer.Typer(
    help="Name commits, so that cleanup keeps them.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(help="The tag's name.")]


@app.command()
def create(
    context: typer.Context,
    name: Name,
    commit: Annotated[str | None, typer.Option(help="A commit of any branch.")] = None,
    branch: Annotated[str | None, typer.Option("--branch", "-b", help="The head of a branch.")] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Name a commit; without --commit or --branch, the head of main."""
    with report_errors(as_json):
        made = session_of(context).open(uri, read_only=False, rescue=True).tags.create(name, commit, branch)
        if as_json:
            print_json(asdict(made))
        else:
            print_text(
                f"tag {made.name} names commit {made.commit} (version {made.version} of {made.branch})"
            )


@app.command("list")
def list_tags(context: typer.Context, uri: UriOption = None, as_json: AsJson = False) -> None:
    """List the tags by name."""
    with report_errors(as_json):
        tags = session_of(context).open(uri).tags.list()
        if as_json:
            print_json({"tags": [asdict(tag) for tag in tags]})
        else:
            rows = [
                (tag.name, tag.commit, tag.branch, tag.version, tag.actor, tag.created_at) for tag in tags
            ]
            print_table(("tag", "commit", "branch", "version", "actor", "made"), rows)


@app.command()
def delete(context: typer.Context, name: Name, uri: UriOption = None, as_json: AsJson = False) -> None:
    """Remove a tag; the next cleanup may drop its commit."""
    with report_errors(as_json):
        session_of(context).open(uri, read_only=False, rescue=True).tags.delete(name)
        if as_json:
            print_json({"deleted": name.strip()})
        else:
            print_text(f"deleted tag {name.strip()}")
